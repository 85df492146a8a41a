import type { History } from './history.ts';
import { historyPorts } from './history-objects.ts';
import { asBackends, viewOf } from './model.ts';

/** By `clusterIP:port` the backends of each Service that there is; none of one that there is not. */
export function backendsOf(history: History, self: string): Record<string, string[] | undefined> {
  const view = viewOf(history, self, history.slices);
  const entries = history.names.flatMap((service) =>
    historyPorts.map((port) => {
      const backends = history.services.has(service)
        ? asBackends(view, history.slices, service, port)
        : undefined;
      return [`${history.clusterIP(service)}:${port.port}`, backends] as const;
    }),
  );
  return Object.fromEntries(entries);
}
