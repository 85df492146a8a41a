import type { Logger } from 'pino';
import type { LogBounds } from '../filter/event-log.ts';
import { createJsonCodec } from '../filter/json/codec.ts';
import { createProtobufCodec } from '../filter/protobuf/codec.ts';
import { VersionClock } from '../filter/version-clock.ts';
import type { PolicySettings } from '../topology/policy.ts';
import { World } from '../topology/world.ts';
import { answerError } from './answer.ts';
import type { Credentials } from './credentials.ts';
import { Failover } from './failover.ts';
import { Listener } from './listener.ts';
import { NodeSetWatcher } from './node-set-watcher.ts';
import { createPassthrough } from './passthrough.ts';
import type { ReadBounds } from './read-bounds.ts';
import { SnapshotStore, type SnapshotStoreOptions } from './snapshot-store.ts';
import { createUpstream } from './upstream.ts';
import { Views } from './views.ts';

export interface NodeProxyOptions {
  readonly nodeName: string;
  readonly credentials: Credentials;
  readonly host: string;
  readonly port: number;
  readonly policies: PolicySettings;
  readonly window: LogBounds;
  readonly maxViews: number;
  readonly idleViewMs: number;
  readonly readyWaitMs: number;
  readonly bookmarkMs: number;
  readonly minWatchMs: number;
  readonly stallMs?: number;
  /** Further API servers of the same cluster; see Failover. */
  readonly servers?: readonly URL[];
  /** After this long without a byte the API server is asked whether it is there; see Pulse. */
  readonly quietMs?: number;
  readonly bounds?: ReadBounds;
  /** Where the last known state is kept over a restart; absent: nowhere. */
  readonly state?: Omit<SnapshotStoreOptions, 'nodeName' | 'credentials' | 'logger'>;
  readonly logger: Logger;
}

/** The running proxy: everything between kube-proxy and the API server. */
export interface NodeProxy {
  /** Where clients reach it. */
  readonly url: string;
  readonly world: World;
  readonly views: Views;
  readonly nodeSets: NodeSetWatcher;
  readonly listener: Listener;
  /** Which API server is in use. */
  readonly failover: Failover;
  /** Undefined when nothing is kept on disk. */
  readonly snapshots: SnapshotStore | undefined;
  /** Ends the watches of clients, then those at the API server, and waits for both. */
  close(): Promise<void>;
}

/** Builds the house and opens the door. Rejects with `InvalidSettings`, or when the port is taken. */
export async function startNodeProxy(options: NodeProxyOptions): Promise<NodeProxy> {
  const { nodeName, logger, servers = [] } = options;
  const credentials = new Failover({ ...options, servers });
  const codecs = { json: createJsonCodec(), protobuf: createProtobufCodec() };
  const clock = new VersionClock(Date.now());
  const world = new World(nodeName);
  const upstream = createUpstream({
    ...options,
    credentials,
    onOutcome: (server, outcome) => credentials.report(server, outcome),
    onFound: (server) => credentials.take(server),
  });
  credentials.probe = (server) => upstream.probe(server);
  const snapshots =
    options.state && new SnapshotStore({ ...options.state, nodeName, credentials, logger });
  const { bounds } = options;
  const context = {
    ...{ upstream, clock, world, logger, codecs, codec: codecs.protobuf },
    ...(bounds && { bounds }),
    ...(snapshots && { snapshots }),
  };
  const nodeSets = new NodeSetWatcher(context);
  const views = new Views({ ...options, ...context, idleMs: options.idleViewMs });
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
    await Promise.all([views.close(), nodeSets.close()]);
    await Promise.all([passthrough.close(), upstream.close(), snapshots?.close()]);
    credentials.close();
  };
  try {
    const url = await listener.listen();
    return { url, world, views, nodeSets, listener, failover: credentials, snapshots, close };
  } catch (error) {
    await close();
    throw error;
  }
}
