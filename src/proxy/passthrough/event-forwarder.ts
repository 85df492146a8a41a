import type { IncomingMessage, ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { type Status, WrapperError } from '../../errors.ts';
import type { RequestInfo } from '../api/request-info.ts';
import { readUrl } from '../api/request-url.ts';
import { RefusalLog } from '../http/refusal-log.ts';
import { readBody } from '../http/request-body.ts';
import { ExpiringNames } from '../util/expiring-names.ts';
import { TokenBucket } from '../util/token-bucket.ts';
import { EventAdmission, type EventRefusal, type EventRule, REFUSALS } from './event-admission.ts';
import type { Passthrough } from './passthrough.ts';

/** Result for an Event: `forwarded`, or the rule that refused it. */
export type EventResult = 'forwarded' | EventRule;

export interface EventForwarderOptions {
  readonly nodeName: string;
  /** Name of the host; default: `os.hostname`. */
  readonly hostName?: string;
  /** Forwards with our own identity. */
  readonly passthrough: Pick<Passthrough, 'forward'>;
  /** Writes a refusal to a client. */
  readonly respond: (
    request: IncomingMessage,
    response: ServerResponse,
    error: WrapperError,
  ) => void;
  /** False: all Events are refused (forwardEvents). */
  readonly enabled: boolean;
  /** Maximum size of one Event in bytes (maxEventBytes). */
  readonly maxEventBytes: number;
  /** Time limit for the body of a request, in milliseconds; default 3,000. */
  readonly bodyMs?: number;
  /** A monotonic clock in milliseconds; default: `performance.now`. */
  readonly now?: () => number;
  readonly logger: Logger;
  /** Logs what is refused; default: a log of its own. */
  readonly refusals?: Pick<RefusalLog, 'record'>;
}

/** Maximum number of concurrent requests. kube-proxy sends one or two when it starts. */
const MAX_CONCURRENT = 4;
const BODY_MS = 3_000;
/** kube-proxy writes one to three at its start, and then one for each Service whose health check port is in use. */
const RATE = { burst: 20, refillMs: 15_000 };
/** An API server keeps an Event for an hour (--event-ttl), and client-go updates it during that time. */
const WRITTEN = { max: 64, ttlMs: 2 * 60 * 60_000 };

/**
 * Forwards kube-proxy's own Events with our identity. All others are refused, because any process on the node can send
 * some. The API server receives nothing until the whole body was read and checked.
 *
 * A request passes these checks in order: head, number of concurrent requests, body, rate.
 */
export class EventForwarder {
  /** Number of requests by result, since the start. */
  readonly counts: Record<EventResult, number>;
  readonly #options: EventForwarderOptions;
  readonly #admission: EventAdmission;
  readonly #bucket: TokenBucket;
  /** Events that the API server accepted from us, as `namespace/name`. Only these may be updated. */
  readonly #written: ExpiringNames;
  readonly #refusals: Pick<RefusalLog, 'record'>;
  #concurrent = 0;

  constructor(options: EventForwarderOptions) {
    this.#options = options;
    const now = options.now ?? (() => performance.now());
    this.#refusals = options.refusals ?? new RefusalLog(options.logger);
    this.#admission = new EventAdmission(options.nodeName, options.hostName ?? hostname());
    this.#bucket = new TokenBucket({ ...RATE, now });
    this.#written = new ExpiringNames({ ...WRITTEN, now });
    const rules = Object.keys(REFUSALS) as EventRule[];
    this.counts = Object.fromEntries(
      ['forwarded' as const, ...rules].map((result) => [result, 0]),
    ) as Record<EventResult, number>;
  }

  /** Answers a POST or a PATCH of an Event. The name in the path is empty for a POST. */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    info: Extract<RequestInfo, { kind: 'events' }>,
  ): void {
    const refusal = this.#checkHead(request) ?? this.#enter(response);
    if (refusal !== undefined) {
      this.#refuse(request, response, refusal);
      return;
    }
    const { maxEventBytes: maxBytes, bodyMs: timeoutMs = BODY_MS } = this.#options;
    readBody(request, { maxBytes, name: 'maxEventBytes', timeoutMs }).then(
      (body) => this.#handleBody(request, response, info, body),
      (error) => this.#refuse(request, response, refusalOf(error)),
    );
  }

  /** Checks what is known before the body is read. */
  #checkHead(request: IncomingMessage): EventRefusal | undefined {
    const { enabled, maxEventBytes } = this.#options;
    const length = request.headers['content-length'];
    if (!enabled) {
      const message = 'Events are not forwarded here (forwardEvents is false)';
      return { rule: 'disabled', message };
    }
    if (readUrl(request).query.size > 0) {
      return { rule: 'query', message: 'an Event is accepted only without query parameters' };
    }
    if (length === undefined) {
      return { rule: 'no-length', message: 'an Event is accepted only with a Content-Length' };
    }
    if (Number(length) <= maxEventBytes) return undefined;
    const message = `the Event has ${length} bytes; at most ${maxEventBytes} are accepted (maxEventBytes)`;
    return { rule: 'too-large', message };
  }

  /** Counts the request as concurrent until its response has ended. */
  #enter(response: ServerResponse): EventRefusal | undefined {
    if (this.#concurrent >= MAX_CONCURRENT) {
      return { rule: 'busy', message: `${MAX_CONCURRENT} Events are already being forwarded` };
    }
    this.#concurrent++;
    response.once('close', () => this.#concurrent--);
    return undefined;
  }

  #handleBody(
    request: IncomingMessage,
    response: ServerResponse,
    { apiVersion, namespace, name }: Extract<RequestInfo, { kind: 'events' }>,
    body: Buffer,
  ): void {
    if (response.destroyed) return;
    const contentType = request.headers['content-type'];
    const checked =
      name === ''
        ? this.#admission.checkCreate(body, contentType, { apiVersion, namespace })
        : (this.#checkUpdate(body, contentType, `${namespace}/${name}`) ?? { name });
    if ('rule' in checked) {
      this.#refuse(request, response, checked);
      return;
    }
    const waitMs = this.#bucket.take();
    if (waitMs > 0) {
      this.#refuse(request, response, tooOften(), Math.ceil(waitMs / 1000));
      return;
    }
    this.counts.forwarded++;
    const onAnswer = (statusCode: number): void => {
      if (statusCode === 201) this.#written.add(`${namespace}/${checked.name}`);
    };
    this.#options.passthrough.forward(request, response, { body, onAnswer });
  }

  /**
   * An Event that this process did not write may belong to another client. The status is 403, because after 404
   * client-go writes the Event again under the same name, gets 409, and tries twelve times. After 403 it drops the
   * Event, and the next one gets a new name.
   */
  #checkUpdate(
    body: Buffer,
    contentType: string | undefined,
    key: string,
  ): EventRefusal | undefined {
    const refusal = this.#admission.checkPatch(body, contentType);
    if (refusal !== undefined || this.#written.use(key)) return refusal;
    const message = 'only an Event that was written through this process can be updated';
    return { rule: 'unknown-event', message };
  }

  #refuse(
    request: IncomingMessage,
    response: ServerResponse,
    { rule, message }: EventRefusal,
    retryAfterSeconds = 1,
  ): void {
    this.counts[rule]++;
    this.#log(request, rule, message);
    if (response.destroyed) return;
    // The rest of the body would be waited for, or be parsed as the next request.
    if (!request.complete) response.shouldKeepAlive = false;
    const text = `Event refused by the rule "${rule}": ${message}`;
    const { code, reason } = REFUSALS[rule];
    const status: Status = {
      ...{ code, reason, message: `kube-proxy-wrapper: ${text}` },
      ...(code === 429 ? { retryAfterSeconds } : {}),
    };
    const kind = code === 403 ? 'Forbidden' : code === 429 ? 'LimitExceeded' : 'BadRequest';
    this.#options.respond(request, response, new WrapperError(kind, text, { status }));
  }

  #log({ method: verb, url: resource }: IncomingMessage, rule: EventRule, message: string): void {
    const level = rule === 'disabled' ? 'info' : 'warn';
    this.#refusals.record({
      ...{ listener: 'listen', reason: `Event/${rule}`, level, verb, resource },
      message: `an Event was not forwarded: ${message}`,
    });
  }
}

/** The refusal for an error of {@link readBody}. */
function refusalOf(error: unknown): EventRefusal {
  const { message, status } = WrapperError.from(error, 'BadRequest');
  if (status?.code === 413) return { rule: 'too-large', message };
  return { rule: status?.code === 408 ? 'too-slow' : 'malformed', message };
}

function tooOften(): EventRefusal {
  const message = `after the first ${RATE.burst} one Event is accepted every ${RATE.refillMs / 1000} s`;
  return { rule: 'rate', message };
}
