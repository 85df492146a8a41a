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

/** Counts the Events by result, for metrics. */
export interface PolicyEventCounts {
  written: number;
  /** Another node or an earlier process had written it. */
  known: number;
  failed: number;
  /** The queue was full. */
  dropped: number;
}

const SPACING_MS = 1_000;
/** Length of the queue. */
const MAX_QUEUED = 1_000;
/** Events whose time is kept. */
const MAX_RECORDED = 10_000;
/** How long an API server keeps an Event by default (--event-ttl), in milliseconds. */
const EVENT_TTL_MS = 3_600_000;
const MAX_MESSAGE = 1_000;
/** Size of a response, which is a Status. */
const MAX_STATUS_BYTES = 64 * 1024;

/**
 * Writes an Event on each Service whose policy is invalid, for `kubectl describe service` to show.
 *
 * The Event's name is derived from the Service and the error. So all nodes together write it once, because the API
 * server answers the others 409. This process writes an error at most once an hour, and sends at most one request a
 * second. An Event that cannot be written is counted and not tried again, as everywhere in Kubernetes. After a 403 the
 * others are still tried: it may concern one Namespace (terminating, quota exceeded) or an API server that starts.
 */
export class PolicyEvents {
  readonly counts: PolicyEventCounts = { written: 0, known: 0, failed: 0, dropped: 0 };
  readonly #options: PolicyEventsOptions;
  readonly #queue = new Map<string, { readonly path: string; readonly body: string }>();
  /** When each was recorded; monotonic. */
  readonly #recordedAt = new Map<string, number>();
  /** Which failures were logged, by status or error code. */
  readonly #logged = new Set<string>();
  readonly #ended = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: PolicyEventsOptions) {
    this.#options = options;
  }

  /** Queues an Event about the policy of a Service. Returns immediately. */
  record({ namespace, name, uid }: ObjectMeta, problem: string): void {
    const digest = createHash('sha256').update(`${uid} ${problem}`).digest('hex').slice(0, 16);
    const eventName = `${name}.${digest}`;
    const key = `${namespace}/${eventName}`;
    const recordedAt = this.#recordedAt.get(key) ?? Number.NEGATIVE_INFINITY;
    if (this.#ended.signal.aborted || performance.now() - recordedAt < EVENT_TTL_MS) return;
    if (this.#queue.size >= MAX_QUEUED) {
      this.counts.dropped++;
      return;
    }
    if (this.#recordedAt.size >= MAX_RECORDED) this.#recordedAt.clear();
    this.#recordedAt.set(key, performance.now());
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
    this.#queue.set(key, { path, body: JSON.stringify(event) });
    this.#running ??= this.#run();
  }

  /** Drops what is queued. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ended;
    const { spacingMs = SPACING_MS } = this.#options;
    for (const [key, { path, body }] of this.#queue) {
      // The pause comes first: at a start all Services may be reported together, on every node.
      await delay(spacingMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
      await this.#write(path, body);
      this.#queue.delete(key);
    }
    this.#queue.clear();
    this.#running = undefined;
  }

  async #write(path: string, body: string): Promise<void> {
    const { upstream } = this.#options;
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const { signal } = this.#ended;
    try {
      const response = await upstream.request({ method: 'POST', path, headers, body, signal });
      const { statusCode } = response;
      if (statusCode >= 300 && statusCode !== 409) {
        const status = await readBody(response.body, MAX_STATUS_BYTES, response.headers);
        const message = decodeStatus(status)?.message ?? 'no Status';
        this.#failed(String(statusCode), `answered ${statusCode}: ${message}`);
        return;
      }
      response.body.destroy();
      if (statusCode === 409) this.counts.known++;
      else this.counts.written++;
    } catch (error) {
      if (signal.aborted) return;
      const { code, message } = WrapperError.from(error, 'Unreachable');
      this.#failed(code, message);
    }
  }

  /** Logs the first failure of each kind and counts all. */
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
