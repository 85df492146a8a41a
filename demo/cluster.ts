import type { ApiServer } from '../embedded/api-server.ts';

/** The cluster in memory, as far as the bar of the demo shows it. */
export interface DemoCluster {
  readonly nodes: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
  }[];
  /** By `namespace/name` what the annotation topologyKeys says; undefined: there is none. */
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
