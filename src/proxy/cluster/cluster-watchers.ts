import type { ObjectBytes, ObjectMeta } from '../../filter/codec/codec.ts';
import type { ChangeHandler } from '../../filter/codec/facts/change.ts';
import { NAMESPACES } from '../../filter/codec/facts/resource.ts';
import type { PolicyResolver } from '../../topology/policy/policy-resolver.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { CODECS } from '../api/codecs.ts';
import type { Query } from '../api/query.ts';
import {
  type ReflectorContext,
  type RunningReflector,
  runReflector,
} from '../reflector/running-reflector.ts';
import { COMMUNITIES, CommunitiesHandler, communityFacts } from './communities-handler.ts';
import { NamespacesHandler } from './namespaces-handler.ts';
import type { PolicyLog } from './policy-log.ts';

export interface ClusterWatchersOptions extends ReflectorContext {
  readonly topology: Topology;
  readonly policyResolver: PolicyResolver;
  readonly policyLog: PolicyLog;
  /** Whether annotations of Namespaces are read. */
  readonly namespaces: boolean;
  /** Name of this cluster in FabEdge's communities; undefined: communities are not read. */
  readonly fabedgeCluster: string | undefined;
}

/** A collection that only the topology reads. */
export interface ClusterWatcher extends RunningReflector {
  readonly query: Query;
  /** Why the API server does not let us read it. */
  readonly refusal: string | undefined;
}

/**
 * Watches what the topology needs and no client requests: Namespaces and FabEdge's communities, each only if the
 * settings require it.
 *
 * The room: one handler per collection passes changes to the topology (own Node, Services, Namespaces, communities);
 * NodeSetWatcher opens and closes the node sets; reportPolicies() logs what is wrong with policies.
 */
export class ClusterWatchers {
  readonly #options: ClusterWatchersOptions;
  readonly sources: readonly ClusterWatcher[];

  constructor(options: ClusterWatchersOptions) {
    this.#options = options;
    const { topology, namespaces, fabedgeCluster } = options;
    const sources: ClusterWatcher[] = [];
    if (namespaces) {
      const handler = new NamespacesHandler(options);
      const decode = (object: ObjectBytes) => CODECS.protobuf.partialMetadata(object);
      const query = { ...ALL, resource: NAMESPACES, encoding: 'protobuf' } as const;
      sources.push(this.#open({ query, metadataOnly: true, decode, handler }));
    }
    if (fabedgeCluster !== undefined) {
      // Custom resources are served as JSON only.
      const handler = new CommunitiesHandler(topology, fabedgeCluster);
      const decode = (object: ObjectBytes) => communityFacts(CODECS.json, object);
      const query = { ...ALL, resource: COMMUNITIES, encoding: 'json' } as const;
      sources.push(this.#open({ query, metadataOnly: false, decode, handler }));
    }
    this.sources = sources;
  }

  /** Ends all watches and waits for them. */
  async close(): Promise<void> {
    await Promise.all(this.sources.map((source) => source.close()));
  }

  #open<Facts extends ObjectMeta>(collection: {
    readonly query: Query;
    readonly metadataOnly: boolean;
    readonly decode: (object: ObjectBytes) => Facts;
    readonly handler: ChangeHandler<Facts>;
  }): ClusterWatcher {
    const { logger } = this.#options;
    const { plural } = collection.query.resource;
    let refusal: string | undefined;
    const running = runReflector({
      ...this.#options,
      ...collection,
      memory: this.#options.ownMemory?.account(),
      // Only a custom resource can be absent: 404 for Namespaces is not from an API server.
      absentIsEmpty: collection.query.resource.group !== '',
      onRefused: (error) => {
        refusal = error?.message;
        if (error === undefined) return;
        logger.error({ err: error.message }, `the API server does not let us read ${plural}`);
        // Policies continue without it: known objects remain, and no objects count as an empty collection.
        collection.handler.onSynced();
      },
    });
    return {
      query: collection.query,
      close: () => running.close(),
      get status() {
        return running.status;
      },
      get refusal() {
        return refusal;
      },
    };
  }
}

const ALL = { namespace: '', labelSelector: '', fieldSelector: '' } as const;
