import { knownQueryTest } from '../../client/api/kube-proxy-queries.ts';
import { collectionPath, type Query, queryPath } from '../../client/api/query.ts';
import type { ReflectorStatus } from '../../client/reflector/reflector.ts';
import type { WrapperError } from '../../errors.ts';
import type { ProjectionCounters } from '../../filter/projection/endpoints-projection.ts';
import type { ShownState } from '../../server/node-proxy.ts';
import type { NodeSet } from '../../topology/state/node-set.ts';

/** A view that is open. */
export interface ViewReading {
  readonly query: Query;
  /** Path and query string. */
  readonly path: string;
  /** The same for queries of kube-proxy and of this process. Other clients choose their selectors: the path alone. */
  readonly series: string;
  /** Whether kube-proxy reads it, or would. */
  readonly isKubeProxys: boolean;
  /** Number of objects that it shows. */
  readonly objects: number;
  /** Their size. */
  readonly bytes: number;
  /** Active requests that read it, including watches. */
  readonly clients: number;
  /** Whether it is complete and served. */
  readonly started: boolean;
  /** Why it is not served to the clients that requested it; undefined: it is, or this process needs it too. */
  readonly refusal: WrapperError | undefined;
  readonly status: ReflectorStatus;
  /** Undefined for a view without endpoints that are decided here, as the next one. */
  readonly events: ProjectionCounters | undefined;
  /** Number of its endpoints that are corrected from the container runtime; undefined: nothing corrects them. */
  readonly corrected: number | undefined;
}

/** A node set that policies need, or needed a short time ago. */
export interface NodeSetReading extends Pick<NodeSet, 'selector' | 'state' | 'needed' | 'refusal'> {
  /** Number of nodes. */
  readonly nodes: number;
  /** Undefined: it is not watched. */
  readonly status: ReflectorStatus | undefined;
}

/** A collection that only policies depend on: Namespaces, communities. */
export interface SourceReading {
  /** Path and query string. */
  readonly path: string;
  readonly status: ReflectorStatus;
  /** Why the API server does not let us read it. */
  readonly refusal: string | undefined;
}

/** All that this process watches at the API server. */
export interface Collections {
  readonly views: readonly ViewReading[];
  readonly nodeSets: readonly NodeSetReading[];
  readonly sources: readonly SourceReading[];
}

/** @param nodeName empty: any */
export function readViews(
  views: Pick<ShownState['views'], 'sources' | 'isKubeProxys' | 'users' | 'refusalOf'>,
  nodeName: string,
): ViewReading[] {
  const isKnown = knownQueryTest(nodeName);
  return views.sources.map((source) => {
    const { query, view, projection, corrector, status } = source;
    const path = queryPath(query);
    return {
      query,
      path,
      series: isKnown(query) ? path : collectionPath(query.resource, ''),
      isKubeProxys: views.isKubeProxys(source),
      objects: view.size,
      bytes: view.bytes,
      clients: views.users(source),
      started: view.started,
      refusal: views.refusalOf(source),
      status,
      events: projection?.counters,
      corrected: corrector?.count,
    };
  });
}

export function readCollections(
  proxy: Pick<ShownState, 'views' | 'topology' | 'clusterWatchers'>,
): Collections {
  const { views, topology, clusterWatchers } = proxy;
  return {
    views: readViews(views, topology.nodeName),
    nodeSets: Array.from(topology.nodeSets.values(), (set) => {
      const { selector, state, needed, refusal, members, watch } = set;
      return { selector, state, needed, refusal, nodes: members.size, status: watch?.status };
    }),
    sources: clusterWatchers.map(({ query, status, refusal }) => {
      return { path: queryPath(query), status, refusal };
    }),
  };
}
