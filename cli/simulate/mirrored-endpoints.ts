import { isIP } from 'node:net';
import type { Manifest } from './manifest-files.ts';

/*
 * Endpoints objects in manifests. kube-proxy reads slices only, and the control plane copies the Endpoints of a Service
 * without a selector into slices (k8s.io/kubernetes pkg/controller/endpointslicemirroring).
 */

interface EndpointsAddress {
  readonly ip?: unknown;
  readonly nodeName?: unknown;
}

interface EndpointsSubset {
  readonly addresses?: readonly EndpointsAddress[] | null;
  readonly notReadyAddresses?: readonly EndpointsAddress[] | null;
  readonly ports?: readonly { readonly name?: unknown }[] | null;
}

/** The parts of an Endpoints object that the control plane copies. */
export interface EndpointsManifest extends Manifest {
  readonly subsets?: readonly EndpointsSubset[] | null;
}

/** Manages the copies, by their label. */
export const MIRRORING_CONTROLLER = 'endpointslicemirroring-controller.k8s.io';
const SKIP_LABEL = 'endpointslice.kubernetes.io/skip-mirror';
/** Endpoints that a lease of a leader election uses. */
const LEADER_ANNOTATION = 'control-plane.alpha.kubernetes.io/leader';
/** The control plane drops further addresses of a subset. */
const MAX_ADDRESSES = 1_000;

/** The slices that the control plane makes of an Endpoints object whose Service has no selector. They have no zones. */
export function mirroredSlices({ metadata = {}, subsets }: EndpointsManifest): object[] {
  const { namespace, name, labels, annotations } = metadata;
  if (Object(labels)[SKIP_LABEL] === 'true') return [];
  if (Object.hasOwn(Object(annotations), LEADER_ANNOTATION)) return [];
  return (subsets ?? []).flatMap((subset) => {
    const endpoints = endpointsOf(subset);
    const ports = (subset.ports ?? []).map((port) => ({ protocol: 'TCP', name: '', ...port }));
    return [4, 6].flatMap((family) => {
      const own = endpoints.filter(({ addresses: [ip] }) => isIP(String(ip)) === family);
      if (own.length === 0) return [];
      const metadata = { namespace, labels: { 'kubernetes.io/service-name': name } };
      return [{ metadata, addressType: `IPv${family}`, ports, endpoints: own }];
    });
  });
}

function endpointsOf({ addresses, notReadyAddresses }: EndpointsSubset) {
  const endpoint = (ready: boolean) => (address: EndpointsAddress) => ({
    addresses: [address.ip] as const,
    nodeName: address.nodeName,
    conditions: { ready },
  });
  const ready = (addresses ?? []).map(endpoint(true));
  const notReady = (notReadyAddresses ?? []).map(endpoint(false));
  return [...ready, ...notReady].slice(0, MAX_ADDRESSES);
}
