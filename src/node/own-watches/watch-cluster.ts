import { CODECS } from '../../client/api/codecs.ts';
import type { ReflectorContext } from '../../client/reflector/reflector-options.ts';
import type { ObjectMeta } from '../../filter/codec/codec.ts';
import { NAMESPACES } from '../../filter/objects/resource.ts';
import type { PolicyResolver } from '../../topology/policy/policy-resolver.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { COMMUNITIES, CommunitiesHandler, communityFacts } from './communities-handler.ts';
import { NamespacesHandler } from './namespaces-handler.ts';
import { type CollectionOptions, type OpenCollection, openCollection } from './open-collection.ts';
import type { PolicyLog } from './policy-log.ts';

export interface WatchClusterOptions extends ReflectorContext {
  readonly topology: Topology;
  readonly policyResolver: PolicyResolver;
  readonly policyLog: PolicyLog;
  /** Whether annotations of Namespaces are read. */
  readonly namespaces: boolean;
  /** Name of this cluster in FabEdge's communities; undefined: communities are not read. */
  readonly fabedgeCluster: string | undefined;
}

/**
 * Watches what the topology needs and no client requests: Namespaces and FabEdge's communities, each only if the
 * settings require it.
 *
 * The room: one handler per collection passes changes to the topology (own Node, Services, Namespaces, communities);
 * NodeSetReflectors opens the watches of node sets; NodeListFinder looks up single Nodes, and RememberedNodes has on
 * disk what it found; LastOwnNode has there the labels of the own Node; openCollection() opens all that no client
 * requests;
 * PolicyLog logs what is wrong with policies.
 */
export function watchCluster(options: WatchClusterOptions): readonly OpenCollection[] {
  const { topology, namespaces, fabedgeCluster } = options;
  const opened: OpenCollection[] = [];
  if (namespaces) {
    const all = openLoggingRefusal(options, {
      resource: NAMESPACES,
      encoding: 'protobuf',
      decode: (object) => CODECS.protobuf.partialMetadata(object),
      handler: new NamespacesHandler(options),
    });
    opened.push(all);
  }
  if (fabedgeCluster !== undefined) {
    const all = openLoggingRefusal(options, {
      resource: COMMUNITIES,
      encoding: 'json',
      decode: (object) => communityFacts(CODECS.json, object),
      handler: new CommunitiesHandler(topology, fabedgeCluster),
    });
    opened.push(all);
  }
  return opened;
}

function openLoggingRefusal<Facts extends ObjectMeta>(
  context: ReflectorContext,
  collection: Omit<CollectionOptions<Facts>, 'onRefused'>,
): OpenCollection {
  const { resource, handler } = collection;
  return openCollection(context, {
    ...collection,
    onRefused: (error) => {
      if (error === undefined) return;
      const text = `the API server does not let us read ${resource.plural}`;
      context.logger.error({ err: error.message }, text);
      // Policies continue without it: known objects remain, and no objects count as an empty collection.
      handler.onSynced();
    },
  });
}
