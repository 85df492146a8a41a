import type { Query } from '../client/api/query.ts';
import { DEFAULT_READ_LIMITS } from '../client/api/read-limits.ts';
import { CollectionClient } from '../client/reflector/collection-client.ts';
import { OwnReadMemory } from '../client/system/read-memory.ts';
import { Upstream } from '../client/upstream/upstream.ts';
import { WrapperError } from '../errors.ts';
import { SERVICES } from '../filter/objects/resource.ts';
import { VersionAllocator } from '../filter/view/version-allocator.ts';
import { ANYONE } from '../node/views/view-entry.ts';
import { waitUntilReadyToListen } from '../server/hot-restart/hot-restart.ts';
import { DEFAULT_LISTENER_LIMITS } from '../server/http/listener-limits.ts';
import type { NodeProxyOptions } from '../server/node-proxy.ts';
import { checkListeners } from '../server/serving/check-listeners.ts';
import { createListeners, type Listeners } from '../server/serving/listeners.ts';
import { closePart, startParts } from '../util/start-parts.ts';
import { parseRelayRead } from './parse-relay-read.ts';
import { RelayViews, type RelayViewsOptions } from './relay-views.ts';

/*
 * The room `relay`: one watch of each query for all nodes of a site. To a wrapper a relay is one more API server:
 *
 * - It has the API server's own versions. A watch continues at another relay or at the API server without a list.
 * - Each change is sent once and in order. After a gap it ends its watches and forgets its window (relay-source.ts).
 * - Without news from the API server for its silence limit it ends its watches, answers 503 and is not ready.
 * - A version that it has not reached gets 504 after some seconds, never an older state. The newest state, which only
 *   the API server has, is refused, as is everything else that wrappers do not send (parse-relay-read.ts).
 * - The API server decides what the owner of each token may read. Nothing is forwarded or written.
 *
 * It has no Node, no policy and no projection. relay.ts connects its parts; relay-views.ts says which views are open;
 * readiness-log.ts and relay-reading.ts say how it is, for probes and metrics (src/admin/relay-admin.ts).
 */

/** As of a wrapper, as far as they concern the API server, the https listener and its limits. */
export type RelayOptions = Omit<NodeProxyOptions, 'nodeName'> &
  Pick<RelayViewsOptions, 'silenceMs'>;

export interface Relay {
  readonly url: string;
  readonly upstream: Upstream;
  readonly views: RelayViews;
  readonly listeners: Listeners;
  /** Ends the watches of clients, then those at the API server, and waits for both. */
  close(): Promise<void>;
}

/**
 * Limits for 200 nodes, each with its own Node and 12 connections. They are one user with many tokens. Another user has
 * what these leave; one token has a quarter of its user's share, because nodes can share one.
 */
const MAX_CONNECTIONS = 4_096;
/** A connection over TLS costs 70 KB before its first request. */
const MAX_WITHOUT_REQUEST = 1_024;
const MAX_VIEWS = 1_024;
const LISTENER_LIMITS = {
  ...DEFAULT_LISTENER_LIMITS,
  maxConnections: MAX_CONNECTIONS,
  maxWithoutRequest: MAX_WITHOUT_REQUEST,
};
const USER_READS = 2_560;
/**
 * Bytes of all bodies that are being sent, and of one user's. Most of them wait in the kernel, where they count as
 * memory of the Pod; each connection has a block here. 20 lists of 6 MB keep a link of 1 Gbit/s busy.
 */
const MAX_BODY_BYTES = 256 * 1024 * 1024;
const USER_BODY_BYTES = MAX_BODY_BYTES / 2;
const HTTPS_LIMITS = {
  maxCallers: 2_048,
  maxReviews: 64,
  reads: {
    maxRequests: MAX_CONNECTIONS,
    maxPerCaller: USER_READS,
    maxPerToken: USER_READS / 4,
    // A node has one of its own. So a Pod that has the tokens of others does not use up the room of their nodes.
    maxPerAddress: USER_READS / 4,
    // One node more goes to the API server: it does not wait here.
    refusal: { code: 503, reason: 'ServiceUnavailable' },
  },
  // A node that finds the others before it comes again a second later.
  bodies: {
    maxRequests: MAX_BODY_BYTES,
    maxPerCaller: USER_BODY_BYTES,
    maxPerToken: USER_BODY_BYTES / 4,
  },
};
/**
 * How long a request waits for its view, in milliseconds: for a slow link, and less than a client waits for an answer.
 */
const READY_WAIT_MS = 35_000;
/** Exists in every cluster. */
const KUBERNETES = {
  resource: SERVICES,
  namespace: 'default',
  labelSelector: '',
  fieldSelector: 'metadata.name=kubernetes',
  encoding: 'protobuf',
  metadataOnly: true,
} as const;

/** Starts a relay. Rejects with `InvalidSettings` if it cannot be started. */
export async function startRelay(options: RelayOptions): Promise<Relay> {
  return await startParts((parts) => start(options, parts));
}

async function start(
  options: RelayOptions,
  parts: AsyncDisposableStack,
): Promise<Omit<Relay, 'close'>> {
  const { readLimits = DEFAULT_READ_LIMITS } = options;
  const { upstream, https, certificate } = await connect(options, parts);
  const views = parts.adopt(
    new RelayViews({
      ...options,
      upstream,
      readLimits,
      versions: new VersionAllocator(Date.now()),
      ownMemory: new OwnReadMemory(readLimits.maxListBytes),
      maxViews: MAX_VIEWS,
      idleMs: options.idleViewMs,
    }),
    closePart,
  );
  const listeners = await createListeners(
    {
      ...options,
      http: undefined,
      https: { ...https, ...HTTPS_LIMITS },
      listenerLimits: LISTENER_LIMITS,
      serverAccess: upstream.failover,
      upstream,
      nodeName: '',
      forwards: false,
      parse: parseRelayRead,
      acquire: (query, caller) => views.acquire(query, caller),
      readyWaitMs: READY_WAIT_MS,
    },
    certificate,
    parts,
  );
  const url = await listen(options, { views, listeners });
  parts.defer(async () => {
    if (listeners.watches > 0) await views.reachNewest();
  });
  return { url, upstream, views, listeners };
}

/** Checks everything that can be wrong with the options, and creates the connection to the API server. */
async function connect(options: RelayOptions, parts: AsyncDisposableStack) {
  const { https, relays, logger, readLimits = DEFAULT_READ_LIMITS } = options;
  if (relays !== undefined) {
    const message =
      'relays: a relay reads from the API server itself, and would serve nothing; remove this setting from those of the relay';
    throw new WrapperError('InvalidSettings', message);
  }
  const upstream = parts.adopt(
    new Upstream({
      ...options,
      relays,
      list: async (request) => {
        const client = { query: KUBERNETES, readLimits, upstream: { request } };
        await new CollectionClient(client).list('', new AbortController().signal);
      },
    }),
    closePart,
  );
  const { servers } = upstream.failover;
  const certificate = parts.adopt(await checkListeners({ https }, servers, logger), closePart);
  if (https === undefined) {
    throw new WrapperError('InvalidSettings', 'https: a relay needs an address and a certificate');
  }
  return { upstream, https, certificate };
}

/** Listens, as soon as this process can answer as well as another one that listens on the same address. */
async function listen(
  { logger, signal = new AbortController().signal }: RelayOptions,
  { views, listeners }: Pick<Relay, 'views' | 'listeners'>,
): Promise<string> {
  const { queries } = views;
  const { addresses } = listeners;
  const acquire = (query: Query) => views.acquire(query, ANYONE);
  const isNeeded = () => true;
  await waitUntilReadyToListen({ addresses, queries, isNeeded, acquire, logger, signal });
  const { https = '' } = await listeners.listen();
  return https;
}
