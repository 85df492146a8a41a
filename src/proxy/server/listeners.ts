import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { AccessPolicy } from '../auth/access-policy.ts';
import { createAccessReview } from '../auth/access-review.ts';
import { AccessReviewAuthorizer } from '../auth/access-review-authorizer.ts';
import { CallerAccess, type CallerAccessOptions } from '../auth/caller-access.ts';
import { assertLoopback, LoopbackAccess } from '../auth/loopback-access.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { DEFAULT_LISTENER_LIMITS, type ListenerLimits } from '../http/http-errors.ts';
import type { ListenAddress } from '../http/http-listener.ts';
import { RefusalLog, reasonOf } from '../http/refusal-log.ts';
import { sendError } from '../http/respond.ts';
import { makeSelfSigned, type SelfSignedOptions } from '../http/self-signed-certificate.ts';
import {
  fileReader,
  loadCertificate,
  type Pems,
  type ServerCertificate,
} from '../http/server-certificate.ts';
import { EventForwarder, type EventForwarderOptions } from '../passthrough/event-forwarder.ts';
import {
  DEFAULT_FORWARDING_LIMITS,
  ForwardingLimits,
  type ForwardingLimitsOptions,
} from '../passthrough/forwarding-limits.ts';
import { createPassthrough, type Passthrough } from '../passthrough/passthrough.ts';
import type { Identity } from '../passthrough/passthrough-headers.ts';
import { assertConfidential } from '../upstream/assert-confidential.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { RequestHandler, type RequestHandlerOptions } from './request-handler.ts';

/** The https door. */
export interface HttpsListenerOptions {
  readonly address: ListenAddress;
  /** The certificate: from files, or made at start. */
  readonly certificate:
    | { readonly certFile: string; readonly keyFile: string }
    | { readonly selfSigned: SelfSignedOptions };
  /** Authorities of client certificates; absent: none is asked for. */
  readonly clientCaFile?: string;
  /** See {@link AccessReviewAuthorizer}. */
  readonly allowedMs: number;
  readonly deniedMs: number;
  readonly maxCallers: number;
  readonly maxReviews: number;
  /** Requests that are forwarded at once; default: {@link DEFAULT_FORWARDING_LIMITS}. */
  readonly forwarding?: ForwardingLimitsOptions;
}

export interface ListenersOptions {
  /** The plain http door, on loopback; absent: none. */
  readonly http?: ListenAddress | undefined;
  readonly https?: HttpsListenerOptions | undefined;
  /** Bounds of each door; default: {@link DEFAULT_LISTENER_LIMITS}. */
  readonly bounds?: ListenerLimits;
  /** Bytes of an Event written over plain http; default 4 KiB. */
  readonly maxEventBytes?: number;
  /** Whether kube-proxy's Events are forwarded over plain http; default true. */
  readonly forwardEvents?: boolean;
  /** How long requests on open connections are answered after the close, in milliseconds; default 0. */
  readonly drainMs?: number;
  /** A client that takes nothing of an answer for this long is given up, in milliseconds; default 60,000. */
  readonly stallMs?: number;
}

/** The doors of the proxy, each with its own idea of who may come in. */
export interface Listeners {
  /** Where the doors are, or will be. */
  readonly addresses: readonly ListenAddress[];
  readonly handlers: readonly RequestHandler[];
  readonly certificate: ServerCertificate | undefined;
  readonly reviews: AccessReviewAuthorizer | undefined;
  /** Logs and counts what all handlers refuse, the admin port's too. */
  readonly refusals: RefusalLog;
  /** Events over plain http; undefined: there is no such door. */
  readonly events: Pick<EventForwarder, 'counts'> | undefined;
  /** What is forwarded over https; undefined: there is no such door. */
  readonly forwarding: Pick<ForwardingLimits, 'active' | 'refused'> | undefined;
  /** Open watches of clients. */
  readonly watches: number;
  /** Starts to listen; returns the URLs. */
  listen(): Promise<{ readonly http: string | undefined; readonly https: string | undefined }>;
  close(): Promise<void>;
}

type ListenersContext = ListenersOptions &
  Pick<RequestHandlerOptions, 'acquire' | 'codecs' | 'nodeName' | 'readyWaitMs' | 'times'> & {
    readonly refusals: RefusalLog;
    readonly upstream: Upstream;
    readonly credentials: Credentials;
    readonly logger: Logger;
  };

const MAX_EVENT_BYTES = 4096;
const STALL_MS = 60_000;

/** Builds the doors; nothing listens yet. Rejects with `InvalidSettings`. */
export async function createListeners(
  options: Omit<ListenersContext, 'refusals'>,
): Promise<Listeners> {
  const refusals = new RefusalLog(options.logger);
  const context = { ...options, refusals };
  const { http, https } = context;
  if (http !== undefined) assertLoopback(http.host);
  if (https !== undefined) assertConfidential(context.credentials.servers);
  const ways: Passthrough[] = [];
  const wayOf = (identity: Identity): Passthrough => {
    const way = createWay(context, identity);
    ways.push(way);
    return way;
  };
  const certificate = https === undefined ? undefined : await certificateOf(https, context.logger);
  const reviews = https === undefined ? undefined : reviewsOf(https, context);
  const events = http && new EventForwarder(eventOptions(context, wayOf('own')));
  const plain = http && events && openHttp(context, http, events);
  const limits = https && new ForwardingLimits(https.forwarding ?? DEFAULT_FORWARDING_LIMITS);
  const secure =
    https &&
    certificate &&
    reviews &&
    limits &&
    openHttps(context, https, certificate, { reviews, limits, passthrough: wayOf('caller') });
  const handlers = [plain, secure].filter((each) => each !== undefined);
  const unfollow = https && warnOfClearText(context);
  return {
    addresses: [http, https?.address].filter((each) => each !== undefined),
    handlers: handlers,
    ...{ certificate, reviews, refusals, events, forwarding: limits },
    get watches() {
      return handlers.reduce((sum, handler) => sum + handler.watches, 0);
    },
    listen: async () => ({ https: await secure?.listen(), http: await plain?.listen() }),
    close: async () => {
      let open = handlers.length;
      // Watches end when no door accepts any more: their clients come back to the next process only.
      const stopped = () => {
        if (--open > 0) return;
        for (const handler of handlers) handler.endWatches();
      };
      await Promise.all(handlers.map((handler) => handler.close(stopped)));
      await Promise.all(ways.map((way) => way.close()));
      certificate?.close();
      unfollow?.();
      refusals.close();
    },
  };
}

/** The kubeconfig may change to plain http later on. Only a warning: kube-proxy is not to lose its door for it. */
function warnOfClearText({ credentials, logger }: ListenersContext): () => void {
  return credentials.onTlsChange(() => {
    try {
      assertConfidential(credentials.servers);
    } catch (error) {
      logger.warn(WrapperError.from(error, 'InvalidSettings').message);
    }
  });
}

function eventOptions(context: ListenersContext, passthrough: Passthrough): EventForwarderOptions {
  const { nodeName, codecs, logger, forwardEvents: enabled = true } = context;
  const { maxEventBytes = MAX_EVENT_BYTES } = context;
  return {
    ...{ nodeName, passthrough, enabled, maxEventBytes, logger },
    respond: (request, response, error) => sendError(request, response, codecs, error),
  };
}

function openHttp(
  context: ListenersContext,
  address: ListenAddress,
  events: EventForwarder,
): RequestHandler {
  const accessPolicy = new LoopbackAccess(events);
  return listenerOf(context, { name: 'listen', address, accessPolicy, assertHost: assertLoopback });
}

function openHttps(
  context: ListenersContext,
  { address }: HttpsListenerOptions,
  certificate: ServerCertificate,
  parts: Pick<CallerAccessOptions, 'reviews' | 'limits' | 'passthrough'>,
): RequestHandler {
  const { nodeName, codecs } = context;
  const accessPolicy = new CallerAccess({
    ...{ ...parts, nodeName },
    respond: (request, response, error) => sendError(request, response, codecs, error),
  });
  return listenerOf(context, { name: 'https.listen', address, accessPolicy, certificate });
}

function listenerOf(
  context: ListenersContext,
  listener: {
    readonly name: string;
    readonly address: ListenAddress;
    readonly accessPolicy: AccessPolicy;
    readonly certificate?: ServerCertificate;
    readonly assertHost?: (host: string) => void;
  },
): RequestHandler {
  const { bounds = DEFAULT_LISTENER_LIMITS, drainMs = 0, stallMs = STALL_MS } = context;
  return new RequestHandler({ ...context, ...listener, bounds, drainMs, stallMs });
}

function createWay(context: ListenersContext, identity: Identity): Passthrough {
  const { credentials, codecs, logger, refusals } = context;
  const listener = identity === 'own' ? 'listen' : 'https.listen';
  return createPassthrough({
    credentials,
    logger,
    identity,
    onError: (error, request, response) => {
      const { method: verb, url: resource } = request;
      const { message } = error;
      refusals.record({ listener, reason: reasonOf(error), message, verb, resource });
      sendError(request, response, codecs, error);
    },
  });
}

function reviewsOf(
  https: HttpsListenerOptions,
  { upstream, logger }: ListenersContext,
): AccessReviewAuthorizer {
  return new AccessReviewAuthorizer({
    ...https,
    ask: (caller, attributes, signal) => createAccessReview(upstream, caller, attributes, signal),
    logger,
  });
}

async function certificateOf(
  https: HttpsListenerOptions,
  logger: Logger,
): Promise<ServerCertificate> {
  const { certificate, clientCaFile } = https;
  const ca = clientCaFile === undefined ? {} : { clientCaFile };
  const followed = clientCaFile === undefined ? [] : [clientCaFile];
  if ('certFile' in certificate) {
    const { certFile, keyFile } = certificate;
    const read = fileReader({ certFile, keyFile, ...ca });
    return loadCertificate({ read, files: [certFile, keyFile, ...followed], logger });
  }
  const { cert, key } = await makeSelfSigned(certificate.selfSigned, logger);
  const read = async (): Promise<Pems> =>
    clientCaFile === undefined
      ? { cert, key }
      : { cert, key, clientCa: await readFile(clientCaFile, 'utf8') };
  return loadCertificate({ read, files: followed, logger });
}
