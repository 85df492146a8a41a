import { hostname } from 'node:os';

/** Where kube-proxy writes its Events. */
export const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';

let written = 0;

/** The Event that kube-proxy writes at its start (cmd/kube-proxy/app/server.go, client-go tools/events). */
export function kubeProxyEvent(nodeName: string): string {
  written += 1;
  return JSON.stringify({
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: {
      name: `${nodeName}.${(BigInt(Date.now()) * 1_000_000n + BigInt(written)).toString(16)}`,
      namespace: 'default',
    },
    eventTime: new Date().toISOString().replace('Z', '000Z'),
    reportingController: 'kube-proxy',
    // client-go takes the name of the machine, not that of the Node.
    reportingInstance: `kube-proxy-${hostname()}`,
    action: 'StartKubeProxy',
    reason: 'Starting',
    regarding: { kind: 'Node', name: nodeName, uid: nodeName },
    type: 'Normal',
  });
}
