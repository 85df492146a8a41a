import type { WrapperError } from '../../errors.ts';
import type { Clock } from '../../util/clock.ts';
import { REQUEST_ENDS, type RequestEnd } from '../api/request-end.ts';
import type { Upstream, UpstreamRequest, UpstreamResponse } from '../upstream/upstream.ts';

/** A relay that brings a query neither a list nor an open watch for this long is left, in milliseconds. */
const RELAY_MS = 30_000;

type Limited = Pick<Upstream, 'request' | 'relaySince' | 'relayBootsUntil' | 'leaveRelay'>;

/**
 * Limits how long one query uses a relay that brings it nothing, whatever the relay answers, or sends byte by byte.
 *
 *     served ── a request is sent to a relay ──▶ waiting ── 30 s ──▶ the relay is left; the request, or the wait
 *        ▲                                          │                after it, ends
 *        └── a list, an open watch, a request to ───┘
 *            an API server, or the same refusal
 *            as that of the API server
 *
 * The first list of a node that boots with its site, and shows a snapshot, may take longer: all nodes of the site read
 * theirs from the same relay.
 *
 * A query that only other clients than kube-proxy have sent never leaves a relay, or one of them would cost all queries
 * of this node their relay: its requests have limits of their own.
 *
 * A relay passes on what the API server refuses, such as a collection that does not exist. So once the API server
 * itself has refused a query, the same refusal is no reason to leave a relay.
 */
export class RelayLimit {
  readonly #upstream: Limited;
  readonly #clock: Clock;
  readonly #forOthers: boolean;
  /** Since when the query waits for a relay; monotonic, in milliseconds. */
  #since: number | undefined;
  /** How the API server has refused the query last; undefined: it has not. */
  #refusal: string | undefined;
  /** Whether the last request was sent to a relay. */
  #isAtRelay = false;
  #wasServed = false;
  /** Ends the request that is under way, or the wait after it. */
  #abort = (): void => {};
  #cancel = (): void => {};

  constructor(upstream: Limited, clock: Clock, forOthers = false) {
    this.#upstream = upstream;
    this.#clock = clock;
    this.#forOthers = forOthers;
  }

  /** @param abort ends the next request, or the wait after it */
  begin(abort: () => void): void {
    this.#abort = abort;
  }

  /** Sends a request of the query. */
  request(request: UpstreamRequest): Promise<UpstreamResponse> {
    const { relaySince } = this.#upstream;
    this.#isAtRelay = relaySince !== undefined;
    if (relaySince === undefined || this.#forOthers) this.end();
    else this.#wait(relaySince);
    return this.#upstream.request(request);
  }

  /** A list has arrived, or a watch is open. */
  served(): void {
    this.#refusal = undefined;
    this.#wasServed = true;
    this.end();
  }

  /** The request has failed. */
  failed(end: RequestEnd, { status }: WrapperError): void {
    const refusal = String(status?.code ?? end);
    if (this.#isAtRelay) {
      if (refusal === this.#refusal) this.end();
    } else if (REQUEST_ENDS[end].snapshot !== 'outage' && end !== 'interrupted') {
      this.#refusal = refusal;
    }
  }

  /** Nothing is waited for. */
  end(): void {
    this.#cancel();
    this.#since = undefined;
  }

  #wait(relaySince: number): void {
    const now = this.#clock.now();
    const since = Math.max(this.#since ?? now, relaySince);
    this.#since = since;
    const { relayBootsUntil } = this.#upstream;
    const end = this.#wasServed ? since + RELAY_MS : Math.max(since + RELAY_MS, relayBootsUntil);
    this.#cancel();
    this.#cancel = this.#clock.after(Math.max(0, end - now), () => {
      this.#upstream.leaveRelay(since);
      this.#abort();
    });
  }
}
