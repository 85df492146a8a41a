import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { Gate } from '../auth/access-policy.ts';
import { askReview } from '../auth/access-review.ts';
import { AccessReviews } from '../auth/access-review-authorizer.ts';
import { CallersGate, type CallersGateOptions } from '../auth/caller-access.ts';
import { assertLoopback, LoopbackGate } from '../auth/loopback-access.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { DEFAULT_BOUNDS, type DoorBounds } from '../http/http-errors.ts';
import type { DoorAddress } from '../http/http-listener.ts';
import { RefusalLog, reasonOf } from '../http/refusal-log.ts';
import { answerError } from '../http/respond.ts';
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
import { Listener, type ListenerOptions } from './request-handler.ts';

/** The https door. */
export interface HttpsOptions {
  readonly address: DoorAddress;
  /** The certificate: from files, or made at start. */
  readonly certificate:
    | { readonly certFile: string; readonly keyFile: string }
    | { readonly selfSigned: SelfSignedOptions };
  /** Authorities of client certificates; absent: none is asked for. */
  readonly clientCaFile?: string;
  /** See {@link AccessReviews}. */
  readonly allowedMs: number;
  readonly deniedMs: number;
  readonly maxCallers: number;
  readonly maxReviews: number;
  /** Requests that are forwarded at once; default: {@link DEFAULT_FORWARDING_LIMITS}. */
  readonly forwarding?: ForwardingLimitsOptions;
}

export interface DoorsOptions {
  /** The plain http door, on loopback; absent: none. */
  readonly http?: DoorAddress | undefined;
  readonly https?: HttpsOptions | undefined;
  /** Bounds of each door; default: {@link DEFAULT_BOUNDS}. */
  readonly bounds?: DoorBounds;
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
export interface Doors {
  /** Where the doors are, or will be. */
  readonly addresses: readonly DoorAddress[];
  readonly listeners: readonly Listener[];
  readonly certificate: ServerCertificate | undefined;
  readonly reviews: AccessReviews | undefined;
  /** Logs and counts what all listeners refuse, the admin port's too. */
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

type Context = DoorsOptions &
  Pick<ListenerOptions, 'acquire' | 'codecs' | 'nodeName' | 'readyWaitMs' | 'times'> & {
    readonly refusals: RefusalLog;
    readonly upstream: Upstream;
    readonly credentials: Credentials;
    readonly logger: Logger;
  };

const MAX_EVENT_BYTES = 4096;
const STALL_MS = 60_000;

/** Builds the doors; nothing listens yet. Rejects with `InvalidSettings`. */
export async function openDoors(options: Omit<Context, 'refusals'>): Promise<Doors> {
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
  const listeners = [plain, secure].filter((each) => each !== undefined);
  const unfollow = https && warnOfClearText(context);
  return {
    addresses: [http, https?.address].filter((each) => each !== undefined),
    listeners,
    ...{ certificate, reviews, refusals, events, forwarding: limits },
    get watches() {
      return listeners.reduce((sum, listener) => sum + listener.watches, 0);
    },
    listen: async () => ({ https: await secure?.listen(), http: await plain?.listen() }),
    close: async () => {
      let open = listeners.length;
      // Watches end when no door accepts any more: their clients come back to the next process only.
      const stopped = () => {
        if (--open > 0) return;
        for (const listener of listeners) listener.endWatches();
      };
      await Promise.all(listeners.map((listener) => listener.close(stopped)));
      await Promise.all(ways.map((way) => way.close()));
      certificate?.close();
      unfollow?.();
      refusals.close();
    },
  };
}

/** The kubeconfig may change to plain http later on. Only a warning: kube-proxy is not to lose its door for it. */
function warnOfClearText({ credentials, logger }: Context): () => void {
  return credentials.onTlsChange(() => {
    try {
      assertConfidential(credentials.servers);
    } catch (error) {
      logger.warn(WrapperError.from(error, 'InvalidSettings').message);
    }
  });
}

function eventOptions(context: Context, passthrough: Passthrough): EventForwarderOptions {
  const { nodeName, codecs, logger, forwardEvents: enabled = true } = context;
  const { maxEventBytes = MAX_EVENT_BYTES } = context;
  return {
    ...{ nodeName, passthrough, enabled, maxEventBytes, logger },
    respond: (request, response, error) => answerError(request, response, codecs, error),
  };
}

function openHttp(context: Context, address: DoorAddress, events: EventForwarder): Listener {
  const gate = new LoopbackGate(events);
  return listenerOf(context, { name: 'listen', address, gate, assertHost: assertLoopback });
}

function openHttps(
  context: Context,
  { address }: HttpsOptions,
  certificate: ServerCertificate,
  parts: Pick<CallersGateOptions, 'reviews' | 'limits' | 'passthrough'>,
): Listener {
  const { nodeName, codecs } = context;
  const gate = new CallersGate({
    ...{ ...parts, nodeName },
    respond: (request, response, error) => answerError(request, response, codecs, error),
  });
  return listenerOf(context, { name: 'https.listen', address, gate, certificate });
}

function listenerOf(
  context: Context,
  door: {
    readonly name: string;
    readonly address: DoorAddress;
    readonly gate: Gate;
    readonly certificate?: ServerCertificate;
    readonly assertHost?: (host: string) => void;
  },
): Listener {
  const { bounds = DEFAULT_BOUNDS, drainMs = 0, stallMs = STALL_MS } = context;
  return new Listener({ ...context, ...door, bounds, drainMs, stallMs });
}

function createWay(context: Context, identity: Identity): Passthrough {
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
      answerError(request, response, codecs, error);
    },
  });
}

function reviewsOf(https: HttpsOptions, { upstream, logger }: Context): AccessReviews {
  return new AccessReviews({
    ...https,
    ask: (caller, attributes, signal) => askReview(upstream, caller, attributes, signal),
    logger,
  });
}

async function certificateOf(https: HttpsOptions, logger: Logger): Promise<ServerCertificate> {
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
