import type { ApiServer } from '../embedded/api-server.ts';

/** The parts of the cluster in memory that the bar of the demo shows. */
export interface DemoCluster {
  readonly nodes: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
  }[];
  /** Value of the annotation topologyKeys by `namespace/name`; undefined: not annotated. */
  readonly policies: Readonly<Record<string, string | undefined>>;
}

export function clusterOf(server: ApiServer): DemoCluster {
  const nodes = server.list('nodes').map(({ metadata }) => ({
    name: metadata.name ?? '',
    labels: metadata.labels ?? {},
  }));
  const policies = server
    .list('services')
    .map(({ metadata: { namespace, name, annotations } }) => [
      `${namespace}/${name}`,
      annotations?.topologyKeys,
    ]);
  return { nodes, policies: Object.fromEntries(policies) };
}
