import type { ClusterObjects } from '../../../src/commands/simulate/cluster-objects.ts';

const PATTERN = /^(node|service)\/([^:=]+):([^:=\s]+?)(?:=(.*)|-)$/s;

/**
 * Changes labels of Nodes and annotations of Services in the namespace default: `node/edge-1:site=b`,
 * `service/web:topologyKeys=["site"]`; `node/edge-1:site-` removes.
 */
export function withChanges(cluster: ClusterObjects, changes: readonly string[]): ClusterObjects {
  let { nodes, services } = cluster;
  for (const change of changes) {
    const [, kind, object, key = '', value] = PATTERN.exec(change) ?? [];
    if (kind === 'node') {
      nodes = nodes.map((each) =>
        each.name === object ? { ...each, labels: changed(each.labels, key, value) } : each,
      );
    } else {
      services = services.map((each) =>
        each.name === object
          ? { ...each, annotations: changed(each.annotations, key, value) }
          : each,
      );
    }
  }
  return { ...cluster, nodes, services };
}

function changed(
  map: ReadonlyMap<string, string>,
  key: string,
  value: string | undefined,
): Map<string, string> {
  const copy = new Map(map);
  if (value === undefined) copy.delete(key);
  else copy.set(key, value);
  return copy;
}
