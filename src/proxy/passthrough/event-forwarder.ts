import type { IncomingMessage, ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { type Status, WrapperError } from '../../errors.ts';
import type { RequestInfo } from '../api/request-info.ts';
import { readUrl } from '../api/request-url.ts';
import { readBody } from '../http/request-body.ts';
import { ExpiringNames } from '../util/expiring-names.ts';
import { TokenBucket } from '../util/token-bucket.ts';
import { EventAdmission, type EventRefusal, type EventRule, REFUSALS } from './event-admission.ts';
import type { Passthrough } from './passthrough.ts';

/** What became of Events: `forwarded`, or the rule by which they were refused. */
export type EventResult = 'forwarded' | EventRule;

export interface EventForwarderOptions {
  readonly nodeName: string;
  /** Name of the machine; default: `os.hostname`. */
  readonly hostName?: string;
  /** Under our own identity. */
  readonly passthrough: Pick<Passthrough, 'forward'>;
  /** Writes a refusal to a client. */
  readonly respond: (
    request: IncomingMessage,
    response: ServerResponse,
    error: WrapperError,
  ) => void;
  /** False: all are refused (forwardEvents). */
  readonly enabled: boolean;
  /** Bytes of one Event at most (maxEventBytes). */
  readonly maxEventBytes: number;
  /** How long a body may take to arrive, in milliseconds; default 3,000. */
  readonly bodyMs?: number;
  /** A monotonic clock in milliseconds; default: `performance.now`. */
  readonly now?: () => number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/** Requests about Events that are read or on their way at once. kube-proxy has one or two when it starts. */
const MAX_AT_ONCE = 4;
const BODY_MS = 3_000;
/** kube-proxy writes one to three when it starts, and then one for each Service whose health check port is taken. */
const RATE = { burst: 20, refillMs: 15_000 };
/** An API server keeps an Event for an hour (--event-ttl); client-go updates it for as long. */
const WRITTEN = { max: 64, ttlMs: 2 * 60 * 60_000 };
const LOG_INTERVAL_MS = 60_000;

/**
 * Forwards kube-proxy's own Events under our identity, and no others: any process on the node can send some. The API
 * server receives nothing before the whole body is here and was understood.
 */
export class EventForwarder {
  /** Requests by what became of them, since the start. */
  readonly counts: Record<EventResult, number>;
  readonly #options: EventForwarderOptions;
  readonly #now: () => number;
  readonly #admission: EventAdmission;
  readonly #bucket: TokenBucket;
  /** Events that the API server took from us, as `namespace/name`: only these may be updated. */
  readonly #written: ExpiringNames;
  readonly #loggedAt = new Map<EventRule, number>();
  #atOnce = 0;

  constructor(options: EventForwarderOptions) {
    this.#options = options;
    const now = options.now ?? (() => performance.now());
    this.#now = now;
    this.#admission = new EventAdmission(options.nodeName, options.hostName ?? hostname());
    this.#bucket = new TokenBucket({ ...RATE, now });
    this.#written = new ExpiringNames({ ...WRITTEN, now });
    const rules = Object.keys(REFUSALS) as EventRule[];
    this.counts = Object.fromEntries(
      ['forwarded' as const, ...rules].map((result) => [result, 0]),
    ) as Record<EventResult, number>;
  }

  /** Answers a POST of an Event, or a PATCH of one; `name` is that in the path, for a POST empty. */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    target: Extract<RequestInfo, { kind: 'events' }>,
  ): void {
    const refusal = this.#checkHead(request) ?? this.#enter(response);
    if (refusal !== undefined) {
      this.#refuse(request, response, refusal);
      return;
    }
    const { maxEventBytes: maxBytes, bodyMs: timeoutMs = BODY_MS } = this.#options;
    readBody(request, { maxBytes, name: 'maxEventBytes', timeoutMs }).then(
      (body) => this.#handleBody(request, response, target, body),
      (error) => this.#refuse(request, response, refusalOf(error)),
    );
  }

  /** What can be told before the body is read. */
  #checkHead(request: IncomingMessage): EventRefusal | undefined {
    const { enabled, maxEventBytes } = this.#options;
    const length = request.headers['content-length'];
    if (!enabled) {
      const message = 'Events are not forwarded here (forwardEvents is false)';
      return { rule: 'disabled', message };
    }
    if (readUrl(request).query.size > 0) {
      return { rule: 'query', message: 'an Event is taken without query parameters only' };
    }
    if (length === undefined) {
      return { rule: 'no-length', message: 'an Event is taken with a Content-Length only' };
    }
    if (Number(length) <= maxEventBytes) return undefined;
    const message = `an Event takes at most ${maxEventBytes} bytes (maxEventBytes), not ${length}`;
    return { rule: 'too-large', message };
  }

  /** Takes one of the places until the answer has ended. */
  #enter(response: ServerResponse): EventRefusal | undefined {
    if (this.#atOnce >= MAX_AT_ONCE) {
      return { rule: 'busy', message: `${MAX_AT_ONCE} Events are being forwarded already` };
    }
    this.#atOnce++;
    response.once('close', () => this.#atOnce--);
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
   * An Event that this process did not write may be anybody's. 403, not 404: client-go would write it again under the
   * same name, get 409, and try twelve times. After 403 it forgets it, and the next one gets a new name.
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
    this.#log(rule, message);
    if (response.destroyed) return;
    // What has not come yet of the body would be waited for, or taken for the next request.
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

  /** Once a minute for each rule: whoever sends thousands does not fill the log too. */
  #log(rule: EventRule, message: string): void {
    const now = this.#now();
    if (now - (this.#loggedAt.get(rule) ?? -Infinity) < LOG_INTERVAL_MS) return;
    this.#loggedAt.set(rule, now);
    const fields = { rule, refused: this.counts[rule], err: message };
    const said =
      'an Event over plain http was not forwarded; further ones are counted for a minute';
    if (rule === 'disabled') this.#options.logger.info(fields, said);
    else this.#options.logger.warn(fields, said);
  }
}

/** The rule behind an error of {@link readBody}. */
function refusalOf(error: unknown): EventRefusal {
  const { message, status } = WrapperError.from(error, 'BadRequest');
  if (status?.code === 413) return { rule: 'too-large', message };
  return { rule: status?.code === 408 ? 'too-slow' : 'malformed', message };
}

function tooOften(): EventRefusal {
  const message = `after the first ${RATE.burst} one Event is taken every ${RATE.refillMs / 1000} s`;
  return { rule: 'rate', message };
}
