import { addressFamily } from '../../filter/objects/api-conventions.ts';
import type { EndpointCorrection, PodEndpoint } from '../../filter/objects/pod-endpoint.ts';
import { type LocalPods, podName } from './local-pods.ts';

/** Address types of slices whose addresses belong to Pods. */
const FAMILIES: readonly string[] = ['IPv4', 'IPv6'];

/**
 * What is true of an endpoint of this node according to the container runtime; undefined: what the API server last
 * sent still is.
 *
 * - A Pod with a ready sandbox: it gets the address of the sandbox. With the network of the node it keeps its address.
 * - A Pod without a ready sandbox is not ready. Of its containers the runtime knows too little: it does not tell those
 *   that must run from those that have done their work.
 * - An endpoint that the API server had as not ready stays so. Its reason may be a probe or a readiness gate, which the
 *   runtime does not know. So a correction takes readiness away and gives back only what it took.
 * - An endpoint whose Service has publishNotReadyAddresses keeps its conditions.
 * - An endpoint whose last address belongs to another Pod now is cut. Traffic to it would reach that Pod, and
 *   kube-proxy keeps one endpoint per address and port, which may be the one that is not ready.
 */
export function correctEndpoint(
  endpoint: PodEndpoint,
  pods: LocalPods,
): EndpointCorrection | undefined {
  const name = podName(endpoint.pod);
  if (!pods.has(name) || !FAMILIES.includes(endpoint.family)) return undefined;
  const pod = pods.find(endpoint.pod, endpoint.address);
  const found = pod?.network?.addresses.find(
    (address) => addressFamily(address) === endpoint.family,
  );
  const isReachable = found !== undefined || pod?.network?.isHostNetwork === true;
  const current = found ?? endpoint.address;
  const owner = pods.ownerOf(current);
  if (!isReachable && owner !== undefined && owner !== name) return 'cut';
  const address = current === endpoint.address ? undefined : current;
  const notReady = !isReachable && endpoint.state !== 'notReady' && !endpoint.publishedNotReady;
  if (address === undefined && !notReady) return undefined;
  return { address, notReady };
}
