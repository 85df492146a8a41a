import type { RequestEnd } from '../../../src/client/api/request-end.ts';
import {
  initialChoice,
  nextChoice,
  type ServerChoice,
  type ServerEvent,
} from '../../../src/client/upstream/server-choice.ts';
import type { UpstreamRequest, UpstreamResponse } from '../../../src/client/upstream/upstream.ts';
import type { Clock } from '../../../src/util/clock.ts';
import { SimulatedServer } from './simulated-server.ts';

const RETURN_MS = 60_000;

/** An API server behind a relay. Which of them is in use is decided as by Failover, by the clock of the simulation. */
export class RelayedServer extends SimulatedServer {
  /** When the relay was left. */
  readonly lefts: number[] = [];
  /** Whether the relay lists the own Node, so that a node returns to it. */
  isListing = true;
  readonly #time: Clock;
  #choice: ServerChoice = initialChoice(['relay', 'api']);

  constructor(options: ConstructorParameters<typeof SimulatedServer>[0]) {
    super(options);
    this.#time = options.clock;
    this.address = this.#choice.inUse;
  }

  override get relaySince(): number | undefined {
    return this.address === 'relay' ? this.#choice.since : undefined;
  }

  override leaveRelay(since: number): void {
    if (this.relaySince !== undefined) this.#handle({ type: 'unserved', since });
  }

  override async request(request: UpstreamRequest): Promise<UpstreamResponse> {
    const server = this.address;
    const since = this.#time.now();
    const ended = (end: RequestEnd): void => this.#handle({ type: 'ended', server, since, end });
    try {
      const response = await super.request(request);
      const report = (end: RequestEnd): void => {
        response.report(end);
        ended(end);
      };
      return { ...response, isRelay: server === 'relay', address: server, report };
    } catch (error) {
      if (request.signal?.aborted !== true) ended('unreachable');
      throw error;
    }
  }

  #handle(event: ServerEvent): void {
    const before = this.#choice.inUse;
    const times = { now: this.#time.now(), returnMs: RETURN_MS };
    this.#choice = nextChoice(this.#choice, event, times);
    this.address = this.#choice.inUse;
    if (this.address === before || this.address === 'relay') return;
    this.lefts.push(times.now);
    this.#returnLater();
  }

  #returnLater(): void {
    this.#time.after(RETURN_MS * this.#choice.returnFactor, () => {
      if (this.isListing) {
        this.#handle({ type: 'listed', server: 'relay' });
        this.serverState.history.reportReturned();
      } else {
        this.#returnLater();
      }
    });
  }
}
