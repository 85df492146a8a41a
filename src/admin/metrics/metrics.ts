import { Counter, Gauge, Registry } from '@prometheus-io/client';
import type { NodeReader } from '../../diagnosis/reading/node-reading.ts';
import { KernelRules } from '../status/kernel-rules.ts';
import type { LogLosses, Metric, MetricSources } from './metric-readers.ts';
import { METRICS } from './metrics-table.ts';
import { registerProcessMetrics } from './process-metrics.ts';

/*
 * The room `metrics`: /metrics, which formats the reading of the node. Nothing is counted here.
 *   metrics-table.ts    all metrics, with their help texts
 *   metric-readers.ts   how they are read
 *   metrics-text.ts     the response, which all callers share
 *   process-metrics.ts  those of the process
 */

const PREFIX = 'kube_proxy_wrapper_';

/** The metrics of metrics-table.ts and of the process. */
export interface Metrics {
  readonly registry: Registry;
  /** Reads the node. Call it before each scrape: its metrics share this reading. */
  read(): void;
}

export function createMetrics(
  reader: NodeReader,
  log: LogLosses = { dropped: 0 },
  rules = new KernelRules(reader),
): Metrics {
  const registry = new Registry();
  registerProcessMetrics(registry);
  const sources = { reading: reader.read(), log, rules };
  for (const metric of METRICS) {
    if (metric.read(sources) !== undefined) register(registry, metric, sources);
  }
  registry.registerMetric(reader.proxy.eventHandling);
  return {
    registry,
    read() {
      sources.reading = reader.read();
    },
  };
}

/** What a counter and a gauge have in common. */
interface Written {
  reset(): void;
  remove(): void;
  inc(labels: Record<string, string>, value: number): void;
}

function register(registry: Registry, metric: Metric, sources: MetricSources): void {
  const { type, name, help, labels, read } = metric;
  const options = { name: PREFIX + name, help, labelNames: labels, registers: [registry] };
  const collect = (): void => {
    registered.reset();
    // reset() gives a metric without labels the value 0. What is not known has no sample.
    if (labels.length === 0) registered.remove();
    for (const [value, ...values] of read(sources) ?? []) {
      const entries = labels.map((label, index) => [label, values[index] ?? '']);
      registered.inc(Object.fromEntries(entries), value);
    }
  };
  const registered: Written =
    type === 'counter' ? new Counter({ ...options, collect }) : new Gauge({ ...options, collect });
}
