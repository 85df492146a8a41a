type Texts = ReadonlyMap<string, string>;

/** Labels with the cluster from which a slice was imported: those of the MCS API (KEP-1645) and of Submariner. */
const CLUSTER_LABELS = [
  'multicluster.kubernetes.io/source-cluster',
  'lighthouse.submariner.io/sourceCluster',
  'submariner-io/clusterID',
] as const;

/** The same as an annotation, by Karmada. */
const CLUSTER_ANNOTATION = 'endpointslice.karmada.io/provision-cluster';

/** Names the controller that writes a slice. */
export const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';

/** Controllers that import slices of other clusters: Karmada, Submariner, Cilium. */
const IMPORTERS = [
  'endpointslice-dispatch-controller.karmada.io',
  'lighthouse-agent.submariner.io',
  'endpointslice-mesh-controller.cilium.io',
] as const;

/**
 * The cluster from which a slice was imported, in words; undefined: nothing says that it was. Some importers keep the
 * names of nodes, and nodes of two clusters may have one name.
 */
export function sourceClusterOf(labels: Texts, annotations: Texts): string | undefined {
  const label = CLUSTER_LABELS.map((key) => labels.get(key)).find(Boolean);
  const cluster = label ?? annotations.get(CLUSTER_ANNOTATION);
  if (cluster !== undefined) return `cluster ${cluster}`;
  const manager = labels.get(MANAGED_BY_LABEL);
  return IMPORTERS.some((importer) => importer === manager) ? 'another cluster' : undefined;
}
