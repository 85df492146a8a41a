import type { History } from './history.ts';
import { historyPorts } from './history-objects.ts';
import { asBackends, viewOf } from './model.ts';

/**
 * By `clusterIP:port` the backends of each Service that there is; none of one that there is not. Of those whose
 * traffic stays on the node, or that have no cluster IP, kube-proxy makes something else: they are left out.
 */
export function backendsOf(history: History, self: string): Record<string, string[] | undefined> {
  const view = viewOf(history, self, history.slices);
  const plain = history.names.filter((name) => {
    const service = history.services.get(name);
    return service?.headless !== true && service?.internalLocal !== true;
  });
  const entries = plain.flatMap((service) =>
    historyPorts.map((port) => {
      const backends = history.services.has(service)
        ? asBackends(view, history.slices, service, port)
        : undefined;
      return [`${history.clusterIP(service)}:${port.port}`, backends] as const;
    }),
  );
  return Object.fromEntries(entries);
}
