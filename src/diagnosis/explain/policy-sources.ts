import type { PolicySource } from '../../topology/policy/policy.ts';

/** Where topology keys come from, in words. */
export const SOURCES: Readonly<Record<PolicySource, string>> = {
  annotation: 'annotation topologyKeys of the Service',
  namespace: 'annotation topologyKeys of the Namespace',
  default: 'setting defaultTopologyKeys',
  openyurt: 'annotation openyurt.io/topologyKeys of the Service',
  'traffic-distribution': 'spec.trafficDistribution of the Service',
  'topology-mode': 'annotation service.kubernetes.io/topology-mode of the Service',
  kubeedge: 'annotation apps.kubeedge.io/service-topology of the Service',
};
