import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { ObjectMeta } from '../../filter/codec/codec.ts';
import { decodeStatus } from '../../filter/codec/json/decode.ts';
import { escapeUntrusted } from '../../untrusted-text.ts';
import { readBody, type Upstream } from '../upstream/upstream.ts';

export interface PolicyEventsOptions {
  readonly upstream: Pick<Upstream, 'request'>;
  readonly nodeName: string;
  readonly logger: Logger;
  /** Time between two requests, in milliseconds; default 1,000. */
  readonly spacingMs?: number;
}

/** Counts what became of the Events, for metrics. */
export interface PolicyEventCounts {
  written: number;
  /** Another node, or an earlier process, had written it. */
  known: number;
  failed: number;
  /** More waited than are kept. */
  dropped: number;
}

const SPACING_MS = 1_000;
/** Services whose Event waits. */
const MAX_WAITING = 1_000;
/** Events of which is known when they were told. */
const MAX_TOLD = 10_000;
/** How long an API server keeps an Event by default (--event-ttl), in milliseconds. */
const EVENT_TTL_MS = 3_600_000;
const MAX_MESSAGE = 1_000;
/** Of an answer, which is a Status. */
const MAX_STATUS_BYTES = 64 * 1024;

/**
 * Writes an Event on each Service whose policy is invalid, for `kubectl describe service` to show.
 *
 * Its name tells Service and mistake: all nodes together write it once, for the API server answers the others
 * 409. This process tells a mistake once an hour at most. A request a second at most; what cannot be
 * written is counted and not tried again, as with Events everywhere. A 403 is no reason to give up the others: it
 * may be about one Namespace (terminated, out of quota) or a moment (an API server that has just started).
 */
export class PolicyEvents {
  readonly counts: PolicyEventCounts = { written: 0, known: 0, failed: 0, dropped: 0 };
  readonly #options: PolicyEventsOptions;
  readonly #waiting = new Map<string, { readonly path: string; readonly body: string }>();
  /** When each was told, by a clock that does not jump. */
  readonly #told = new Map<string, number>();
  /** Which failures were logged, by status or error code. */
  readonly #logged = new Set<string>();
  readonly #ended = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: PolicyEventsOptions) {
    this.#options = options;
  }

  /** Says what is wrong with the policy of a Service. Returns at once. */
  tell({ namespace, name, uid }: ObjectMeta, problem: string): void {
    const digest = createHash('sha256').update(`${uid} ${problem}`).digest('hex').slice(0, 16);
    const eventName = `${name}.${digest}`;
    const key = `${namespace}/${eventName}`;
    const toldAt = this.#told.get(key) ?? Number.NEGATIVE_INFINITY;
    if (this.#ended.signal.aborted || performance.now() - toldAt < EVENT_TTL_MS) return;
    if (this.#waiting.size >= MAX_WAITING) {
      this.counts.dropped++;
      return;
    }
    if (this.#told.size >= MAX_TOLD) this.#told.clear();
    this.#told.set(key, performance.now());
    const { nodeName } = this.#options;
    const now = new Date().toISOString();
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name: eventName },
      involvedObject: { apiVersion: 'v1', kind: 'Service', namespace, name, uid },
      type: 'Warning',
      reason: 'InvalidTopologyPolicy',
      message: escapeUntrusted(`The Service is unfiltered: ${problem}`, MAX_MESSAGE),
      source: { component: 'kube-proxy-wrapper', host: nodeName },
      reportingComponent: 'kube-proxy-wrapper',
      reportingInstance: nodeName,
      ...{ firstTimestamp: now, lastTimestamp: now, count: 1 },
    };
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`;
    this.#waiting.set(key, { path, body: JSON.stringify(event) });
    this.#running ??= this.#run();
  }

  /** Gives up what waits. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ended;
    const { spacingMs = SPACING_MS } = this.#options;
    for (const [key, { path, body }] of this.#waiting) {
      // Before, not after: the Services of a start may all be told at once, on every node.
      await delay(spacingMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
      await this.#write(path, body);
      this.#waiting.delete(key);
    }
    this.#waiting.clear();
    this.#running = undefined;
  }

  async #write(path: string, body: string): Promise<void> {
    const { upstream } = this.#options;
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const { signal } = this.#ended;
    try {
      const answer = await upstream.request({ method: 'POST', path, headers, body, signal });
      const { statusCode } = answer;
      if (statusCode >= 300 && statusCode !== 409) {
        const said = await readBody(answer.body, MAX_STATUS_BYTES, answer.headers);
        const message = decodeStatus(said)?.message ?? 'no Status';
        this.#failed(String(statusCode), `answered ${statusCode}: ${message}`);
        return;
      }
      answer.body.destroy();
      if (statusCode === 409) this.counts.known++;
      else this.counts.written++;
    } catch (error) {
      if (signal.aborted) return;
      const { code, message } = WrapperError.from(error, 'Unreachable');
      this.#failed(code, message);
    }
  }

  /** Logs the first failure of each kind: the rest is counted. */
  #failed(kind: string, problem: string): void {
    this.counts.failed++;
    if (this.#logged.has(kind)) return;
    this.#logged.add(kind);
    this.#options.logger.warn(
      { err: escapeUntrusted(problem, MAX_MESSAGE) },
      'an Event on an invalid policy was not written (policyEvents)',
    );
  }
}
