import type { NodeReading } from '../../diagnosis/reading/node-reading.ts';
import { RECONNECT_MS } from './reconnect.ts';
import { okLine, problemLine, type StatusLine, unknownLine } from './status-line.ts';

/**
 * Whether kube-proxy watches Services and EndpointSlices through this wrapper.
 *
 * @param isRunning whether a kube-proxy runs on this node. One that has not connected again for long uses another way
 * to the API server: it was pointed back
 */
export function kubeProxyLine(
  { node, kubeProxy }: Pick<NodeReading, 'node' | 'kubeProxy'>,
  isRunning: boolean,
): StatusLine {
  const { hasRead, otherNode, urls } = kubeProxy;
  const { services, endpoints: slices } = kubeProxy.unusedMs;
  if (services === 0 && slices === 0) {
    return okLine(
      'kube-proxy',
      'a client watches Services and EndpointSlices through this wrapper',
    );
  }
  const next = `point it at ${urls.join(' or ')} by the commands of docs/deployment.md`;
  if (services > 0 && slices > 0 && otherNode !== undefined) return otherName(node, otherNode);
  if (services > 0 && slices > 0 && !hasRead) {
    const text = 'no kube-proxy has used this wrapper since it started';
    return { id: 'kube-proxy', state: 'notConnected', text, next };
  }
  if (Math.min(services, slices) >= RECONNECT_MS && isRunning) {
    const text = 'kube-proxy runs, and no longer uses this wrapper';
    const remark = `nothing, if it was pointed back on purpose; else ${next}`;
    return { id: 'kube-proxy', state: 'notConnected', text, next: remark };
  }
  const missing = [
    ...(services === 0 ? [] : ['Services']),
    ...(slices === 0 ? [] : ['EndpointSlices']),
  ].join(' and ');
  // As after each restart of the wrapper or of kube-proxy.
  if (Math.max(services, slices) < RECONNECT_MS) {
    return unknownLine('kube-proxy', `kube-proxy connects again: ${missing} not watched yet`);
  }
  const text = `nobody watches ${missing} through this wrapper`;
  return problemLine('kube-proxy', text, `see the log of kube-proxy; ${next}`);
}

/** kube-proxy waits for its Node without end, and reads nothing else until then. */
function otherName(nodeName: string, name: string): StatusLine {
  const text = 'a kube-proxy waits for a Node of another name than this one, and writes no rules';
  const next =
    'give kube-proxy the name of its Node (--hostname-override, hostnameOverride), or correct nodeName of the wrapper';
  return problemLine('kube-proxy', text, next, `it reads ${name}, and this node is ${nodeName}`);
}
