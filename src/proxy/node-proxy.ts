import type { Logger } from 'pino';
import type { LogBounds } from '../filter/event-log.ts';
import { createJsonCodec } from '../filter/json/codec.ts';
import { createProtobufCodec } from '../filter/protobuf/codec.ts';
import { VersionClock } from '../filter/version-clock.ts';
import { PolicyBook } from '../topology/policy-book.ts';
import type { RelationSettings } from '../topology/relations.ts';
import type { PolicySettings } from '../topology/service-policy.ts';
import { World } from '../topology/world.ts';
import { answerError } from './answer.ts';
import type { Credentials } from './credentials.ts';
import { Listener } from './listener.ts';
import { NodeSetWatcher } from './node-set-watcher.ts';
import { createPassthrough } from './passthrough.ts';
import { systemClock } from './system-clock.ts';
import { createUpstream, type Upstream } from './upstream.ts';
import { Views } from './views.ts';
import { WorldSources } from './world-sources.ts';

export interface NodeProxyOptions {
  readonly nodeName: string;
  readonly credentials: Credentials;
  readonly host: string;
  readonly port: number;
  readonly policies: PolicySettings;
  /** Whether annotations of Namespaces are read. */
  readonly namespacePolicies: boolean;
  readonly relations: RelationSettings;
  /** Name of this cluster in FabEdge's communities; undefined: these are not read. */
  readonly fabedgeCluster: string | undefined;
  /** Whether Services whose traffic all goes to the cloud are hidden. */
  readonly cloudPassthrough: boolean;
  readonly window: LogBounds;
  readonly maxViews: number;
  readonly idleViewMs: number;
  readonly readyWaitMs: number;
  readonly bookmarkMs: number;
  readonly minWatchMs: number;
  readonly logger: Logger;
}

/** The running proxy: everything between kube-proxy and the API server. */
export interface NodeProxy {
  /** Where clients reach it. */
  readonly url: string;
  readonly world: World;
  readonly views: Views;
  readonly nodeSets: NodeSetWatcher;
  readonly worldSources: WorldSources;
  /** What Services, Namespaces and settings say. */
  readonly book: PolicyBook;
  readonly upstream: Upstream;
  readonly listener: Listener;
  /** Ends the watches of clients, then those at the API server, and waits for both. */
  close(): Promise<void>;
}

/** Builds the house and opens the door. Rejects with `InvalidSettings`, or when the port is taken. */
export async function startNodeProxy(options: NodeProxyOptions): Promise<NodeProxy> {
  const { credentials, logger } = options;
  const codecs = { json: createJsonCodec(), protobuf: createProtobufCodec() };
  const clock = new VersionClock(Date.now());
  const world = new World({
    ...options,
    declaredCommunities: options.fabedgeCluster !== undefined,
    namespaces: options.namespacePolicies,
  });
  const book = new PolicyBook(options.policies);
  const upstream = createUpstream({ credentials, logger });
  const context = { upstream, clock, world, book, logger, codecs, codec: codecs.protobuf };
  const nodeSets = new NodeSetWatcher(context);
  const views = new Views({
    ...options,
    ...context,
    time: systemClock,
    serviceFilter: options.policies.dryRun === true ? undefined : options.policies.serviceFilter,
    idleMs: options.idleViewMs,
  });
  const worldSources = new WorldSources({
    ...context,
    namespaces: options.namespacePolicies,
    fabedgeCluster: options.fabedgeCluster,
  });
  const passthrough = createPassthrough({
    credentials,
    logger,
    onError: (error, request, response) => answerError(request, response, codecs, error),
  });
  const listener = new Listener({
    ...options,
    codecs,
    passthrough,
    acquire: (question) => views.acquire(question),
    times: options,
  });
  const close = async (): Promise<void> => {
    await listener.close();
    await Promise.all([views.close(), nodeSets.close(), worldSources.close()]);
    await Promise.all([passthrough.close(), upstream.close()]);
  };
  try {
    const url = await listener.listen();
    return { url, world, views, nodeSets, worldSources, book, upstream, listener, close };
  } catch (error) {
    await close();
    throw error;
  }
}
