import type { Logger } from 'pino';
import type { LogBounds } from '../filter/event-log.ts';
import { createJsonCodec } from '../filter/json/codec.ts';
import { createProtobufCodec } from '../filter/protobuf/codec.ts';
import { VersionClock } from '../filter/version-clock.ts';
import { PolicyBook } from '../topology/policy-book.ts';
import type { RelationSettings } from '../topology/relations.ts';
import type { PolicySettings } from '../topology/service-policy.ts';
import { World } from '../topology/world.ts';
import type { Credentials } from './credentials.ts';
import { type Doors, type DoorsOptions, openDoors } from './doors.ts';
import { waitForTurn } from './handover.ts';
import { NodeSetWatcher } from './node-set-watcher.ts';
import type { Question } from './question.ts';
import { usualQuestions } from './questions-json.ts';
import { systemClock } from './system-clock.ts';
import { createUpstream } from './upstream.ts';
import { Views } from './views.ts';
import { WorldSources } from './world-sources.ts';

export interface NodeProxyOptions extends DoorsOptions {
  readonly nodeName: string;
  readonly credentials: Credentials;
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
  /** What the process that is to be replaced has views for; default: what kube-proxy reads. */
  readonly questions?: readonly Question[];
  readonly logger: Logger;
}

/** The running proxy: everything between kube-proxy and the API server. */
export interface NodeProxy {
  /** Where clients reach it: by plain http, or, when there is no such door, by https. */
  readonly url: string;
  /** Where clients reach it by https; undefined: nowhere. */
  readonly httpsUrl: string | undefined;
  readonly world: World;
  readonly views: Views;
  readonly nodeSets: NodeSetWatcher;
  readonly worldSources: WorldSources;
  readonly doors: Doors;
  /** Ends the watches of clients, then those at the API server, and waits for both. */
  close(): Promise<void>;
}

/**
 * Builds the house and opens the doors; where another process has them open, when it can take over. Rejects
 * with `InvalidSettings`, also when a port is taken.
 */
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
  // First, for it can fail; nothing is asked for before something listens.
  const doors = await openDoors({
    ...options,
    codecs,
    upstream,
    acquire: (question) => views.acquire(question),
    times: options,
  });
  const nodeSets = new NodeSetWatcher(context);
  const views = new Views({
    ...options,
    ...context,
    time: systemClock,
    serviceFilter: options.policies.serviceFilter,
    idleMs: options.idleViewMs,
  });
  const worldSources = new WorldSources({
    ...context,
    namespaces: options.namespacePolicies,
    fabedgeCluster: options.fabedgeCluster,
  });
  const close = async (): Promise<void> => {
    await doors.close();
    await Promise.all([views.close(), nodeSets.close(), worldSources.close()]);
    await upstream.close();
  };
  try {
    const { addresses } = doors;
    const questions = options.questions ?? usualQuestions(options.nodeName);
    await waitForTurn({ addresses, questions, acquire: (each) => views.acquire(each), logger });
    const { http, https } = await doors.listen();
    const urls = { url: http ?? https ?? '', httpsUrl: https };
    return { ...urls, world, views, nodeSets, worldSources, doors, close };
  } catch (error) {
    await close();
    throw error;
  }
}
