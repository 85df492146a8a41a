import type { ApiServer } from '../fake-apiserver/api-server.ts';
import { placeLabels, type UsedKeys } from './place-labels.ts';

/** Nodes that the bar shows. Each one takes a request of the page to start. */
const MAX_NODES = 60;

/** The parts of the cluster in memory that the bar of the demo shows. */
export interface DemoCluster {
  readonly nodes: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
  }[];
  /** Number of nodes that are left out. */
  readonly moreNodes: number;
  /** Labels by which nodes can be grouped and moved; see placeLabels(). */
  readonly labels: readonly string[];
  /** The Service that was asked for; absent: there is none. */
  readonly service?: string;
  /** Value of its annotation topologyKeys; absent: not annotated. */
  readonly policy?: string;
}

/**
 * The nodes, and the policy of one Service.
 *
 * @param policies those that a wrapper knows
 * @param about the node and the Service (`namespace/name`) that the page shows; the node comes first
 */
export function clusterOf(
  server: ApiServer,
  policies: UsedKeys,
  about: { readonly node: string; readonly service: string },
): DemoCluster {
  const all = server.list('nodes').map(({ metadata }) => ({
    name: metadata.name ?? '',
    labels: metadata.labels ?? {},
  }));
  const here = all.filter(({ name }) => name === about.node);
  const shown =
    all.length <= MAX_NODES ? all : [...here, ...all.filter((each) => each !== here[0])];
  const nodes = shown.slice(0, MAX_NODES);
  const found = about.service === '' ? undefined : server.get('services', about.service);
  const policy = found?.metadata.annotations?.topologyKeys;
  return {
    nodes,
    moreNodes: all.length - nodes.length,
    labels: placeLabels(policies, all),
    ...(found === undefined ? {} : { service: about.service }),
    ...(policy === undefined ? {} : { policy }),
  };
}
