import type { FaultKind, NodeTarget } from '../fault-kind.ts';

function ends(signal: 'SIGKILL' | 'SIGTERM'): FaultKind<NodeTarget> {
  return {
    room: 'kube-proxy',
    name: signal,
    strike: async ({ kubeProxies, random }) => {
      const kubeProxy = random.pick(kubeProxies);
      await kubeProxy.stop(signal);
      return { hits: () => 1, end: async () => await kubeProxy.start(false) };
    },
  };
}

/** kube-proxies that end, and are started again. */
export const kubeProxyFaults: readonly FaultKind<NodeTarget>[] = [
  ends('SIGKILL'),
  ends('SIGTERM'),
  {
    room: 'kube-proxy',
    name: 'all frozen',
    strike: ({ kubeProxies }) => {
      for (const kubeProxy of kubeProxies) kubeProxy.signal('SIGSTOP');
      return {
        hits: () => kubeProxies.length,
        end: async () => {
          for (const kubeProxy of kubeProxies) kubeProxy.signal('SIGCONT');
        },
      };
    },
  },
];
