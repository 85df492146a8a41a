import type { Logger } from 'pino';
import type { ServerAccess } from '../../client/credentials/credentials.ts';
import type { Upstream } from '../../client/upstream/upstream.ts';
import { type ErrorCode, WrapperError } from '../../errors.ts';
import type { ListenAddress } from '../../util/address.ts';
import { closePart } from '../../util/start-parts.ts';
import { Reviews } from '../auth/access-review.ts';
import { AccessReviewAuthorizer } from '../auth/access-review-authorizer.ts';
import { createCallerPolicy } from '../auth/caller-access.ts';
import { authenticateLocal } from '../auth/loopback-access.ts';
import type { Passthrough } from '../forward/passthrough.ts';
import { CallerLimits, type CallerLimitsOptions } from '../http/caller-limits.ts';
import { logExpiry } from '../http/certificate-log.ts';
import { sendError } from '../http/http-errors.ts';
import { ListenerCounter } from '../http/listener-counter.ts';
import { DEFAULT_LISTENER_LIMITS, type ListenerLimits } from '../http/listener-limits.ts';
import { RefusalLog, reasonOf } from '../http/refusal-log.ts';
import type { CertificateFiles, ServerCertificate } from '../http/server-certificate.ts';
import { WRITE_TIMEOUT_MS } from '../http/write-timeout.ts';
import { assertConfidential } from './assert-confidential.ts';
import { RequestHandler, type RequestHandlerOptions } from './request-handler.ts';
import type { WatchTimes } from './view-response.ts';

/** The https listener. */
export interface HttpsListenerOptions extends CertificateFiles {
  readonly address: ListenAddress;
  /** See {@link AccessReviewAuthorizer}. */
  readonly allowedMs: number;
  readonly deniedMs: number;
  readonly maxCallers: number;
  readonly maxReviews: number;
  /** Maximum number of requests that are forwarded at the same time, and of one user; default: 128 and 32. */
  readonly forwarding?: { readonly maxRequests: number; readonly maxPerCaller: number };
  /** Limits of reads of views; default: a quarter of maxConnections for each user. */
  readonly reads?: Omit<CallerLimitsOptions, 'what'>;
  /** Limits of the bytes of bodies that are being sent; absent: `maxConnections` limits them enough. */
  readonly bodies?: Omit<CallerLimitsOptions, 'what'>;
}

export interface ListenersOptions {
  /** Address of the plain http listener, on loopback; absent: there is none. */
  readonly http?: ListenAddress;
  readonly https?: HttpsListenerOptions;
  /** Limits of each listener; default: {@link DEFAULT_LISTENER_LIMITS}. */
  readonly listenerLimits?: ListenerLimits;
  /** How long requests on open connections are answered after the close, in milliseconds; default 0. */
  readonly drainMs?: number;
  /** A client that reads nothing of a response for this long is disconnected, in milliseconds; default 60,000. */
  readonly writeTimeoutMs?: number;
}

/** The listeners for clients, each with its own access policy. */
export interface Listeners {
  /** The configured addresses. */
  readonly addresses: readonly ListenAddress[];
  readonly handlers: readonly RequestHandler[];
  readonly certificate: ServerCertificate | undefined;
  /** Undefined without https. */
  readonly reviews: AccessReviewAuthorizer | undefined;
  /** Logs and counts what all listeners refuse, including the admin listener. */
  readonly refusals: RefusalLog;
  /** Counts the requests of all listeners, including the admin listener. */
  readonly requests: ListenerCounter;
  /** Requests that are forwarded for callers of https; undefined without https. */
  readonly forwarding: Pick<CallerLimits, 'active' | 'refused'> | undefined;
  /** Reads of callers of https, and the bytes of their bodies; undefined: they are not limited. */
  readonly reads: Pick<CallerLimits, 'tokens' | 'refused'> | undefined;
  readonly bodies: Pick<CallerLimits, 'requests' | 'active' | 'refused'> | undefined;
  /** Number of open watches of clients. */
  readonly watches: number;
  /** Starts to listen; returns the URLs. Rejects with `InvalidSettings` if an address cannot be used. */
  listen(): Promise<{ readonly http: string | undefined; readonly https: string | undefined }>;
}

export type CreateListenersOptions = ListenersOptions &
  Pick<RequestHandlerOptions, 'acquire' | 'nodeName' | 'onOtherNode' | 'parse' | 'readyWaitMs'> &
  WatchTimes & {
    /** Whether requests are forwarded; default: true. */
    readonly forwards?: boolean;
    readonly upstream: Upstream;
    readonly serverAccess: ServerAccess;
    readonly logger: Logger;
  };

interface ListenersContext extends CreateListenersOptions {
  readonly refusals: RefusalLog;
  readonly requests: ListenerCounter;
  readonly parts: AsyncDisposableStack;
}

/**
 * A kubectl has a few requests at a time, a busy controller 20. An API server takes 400 reads and 200 writes at a time.
 */
const FORWARDING = { maxRequests: 128, maxPerCaller: 32 };
/** The share of maxConnections that the reads of one user over https may take, and at least how many. */
const READS_SHARE = 1 / 4;
const MIN_READS = 16;
/** The share of maxConnections that may wait for a review of their caller. The rest is for known callers. */
const WAITING_SHARE = 1 / 2;

/**
 * Creates the listeners for clients from checked settings. They do not listen yet.
 *
 * @param certificate result of checkListeners for the same settings
 * @param parts closes the listeners
 */
export async function createListeners(
  options: CreateListenersOptions,
  certificate: ServerCertificate | undefined,
  parts: AsyncDisposableStack,
): Promise<Listeners> {
  const refusals = parts.adopt(new RefusalLog(options.logger), closePart);
  const requests = new ListenerCounter();
  const context = { ...options, refusals, requests, parts };
  const { http, https } = context;
  // Any process on the node can read.
  const accessPolicy = authenticateLocal;
  const plain =
    http && createRequestHandler(context, { name: 'listen', address: http, accessPolicy });
  const secure = https && certificate && (await createHttps(context, https, certificate));
  if (certificate !== undefined) parts.defer(logExpiry(certificate, options.logger));
  const handlers = [plain, secure?.handler].filter((each) => each !== undefined);
  if (secure !== undefined) parts.defer(warnOfClearText(context));
  parts.defer(() => closeHandlers(handlers));
  return {
    addresses: [http, https?.address].filter((each) => each !== undefined),
    handlers,
    certificate,
    reviews: secure?.reviews,
    refusals,
    requests,
    forwarding: secure?.forwarding,
    reads: secure?.reads,
    bodies: secure?.bodies,
    get watches() {
      return handlers.reduce((sum, handler) => sum + handler.watches, 0);
    },
    listen: async () => ({
      https: await secure?.handler.listen(),
      http: await plain?.listen(),
    }),
  };
}

/** Watches end when no listener accepts any more: only then do their clients connect to the next process. */
async function closeHandlers(handlers: readonly RequestHandler[]): Promise<void> {
  let accepting = handlers.length;
  const onStopped = (): void => {
    accepting--;
    if (accepting > 0) return;
    for (const handler of handlers) handler.endWatches();
  };
  await Promise.all(handlers.map((handler) => handler.close(onStopped)));
}

/** https: callers have their own credentials, with which everything except views is forwarded. */
async function createHttps(
  context: ListenersContext,
  https: HttpsListenerOptions,
  certificate: ServerCertificate,
) {
  const { nodeName, upstream, logger, listenerLimits = DEFAULT_LISTENER_LIMITS } = context;
  const passthrough = context.forwards === false ? undefined : await createForwarding(context);
  const forwarding = new CallerLimits({
    ...(https.forwarding ?? FORWARDING),
    what: 'forwarded requests',
  });
  const { maxConnections } = listenerLimits;
  const reads = new CallerLimits({
    what: 'reads',
    maxRequests: maxConnections,
    maxPerCaller: Math.max(MIN_READS, Math.floor(maxConnections * READS_SHARE)),
    ...https.reads,
  });
  const bodies = https.bodies && new CallerLimits({ what: 'bytes of answers', ...https.bodies });
  const reviews = new AccessReviewAuthorizer({
    ...https,
    maxWaiting: Math.floor(maxConnections * WAITING_SHARE),
    reviews: new Reviews(upstream),
    logger,
  });
  const handler = createRequestHandler(context, {
    name: 'https.listen',
    address: https.address,
    certificate,
    bodies,
    accessPolicy: createCallerPolicy({
      nodeName,
      passthrough,
      authorizer: reviews,
      forwarding,
      reads,
    }),
  });
  return { forwarding, reads, bodies, reviews, handler };
}

function createRequestHandler(
  context: ListenersContext,
  listener: Pick<
    RequestHandlerOptions,
    'name' | 'address' | 'accessPolicy' | 'certificate' | 'bodies'
  >,
): RequestHandler {
  const { listenerLimits = DEFAULT_LISTENER_LIMITS, drainMs = 0 } = context;
  const { writeTimeoutMs = WRITE_TIMEOUT_MS } = context;
  return new RequestHandler({ ...context, ...listener, listenerLimits, drainMs, writeTimeoutMs });
}

/** A forwarded request got no response. */
const UNANSWERED: ReadonlySet<ErrorCode> = new Set(['Unreachable', 'Unanswered']);

/** Creates the passthrough. Its library is large, and nodes without https do not load it. */
async function createForwarding(context: ListenersContext): Promise<Passthrough> {
  const { Passthrough } = await import('../forward/passthrough.ts');
  const { serverAccess, upstream, logger, refusals, parts } = context;
  const passthrough = new Passthrough({
    serverAccess,
    logger,
    onError: (error, request, response) => {
      refusals.report({
        listener: 'https.listen',
        reason: reasonOf(error),
        message: error.message,
        verb: request.method,
        resource: request.url,
      });
      if (UNANSWERED.has(error.code)) upstream.doubt();
      sendError(request, response, error);
    },
  });
  return parts.adopt(passthrough, closePart);
}

/**
 * Warns if the kubeconfig changes to plain http later. At the start that is an error, but a running kube-proxy must
 * not lose its listener because of it.
 */
function warnOfClearText({ serverAccess, logger }: ListenersContext): () => void {
  return serverAccess.onTlsChange(() => {
    try {
      assertConfidential(serverAccess.servers);
    } catch (error) {
      logger.warn(WrapperError.from(error, 'InvalidSettings').message);
    }
  });
}
