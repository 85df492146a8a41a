import { Counter, Gauge, Registry } from '@prometheus-io/client';
import type { NodeReader } from '../../diagnosis/reading/node-reading.ts';
import { KernelRules } from '../status/kernel-rules.ts';
import type { LogLosses, Metric, Sample, WrapperSources } from './metric-readers.ts';
import { WRAPPER_METRICS } from './metrics-table.ts';
import { registerProcessMetrics } from './process-metrics.ts';

/*
 * The room `metrics`: /metrics, which formats the reading of the node. Nothing is counted here.
 *   metrics-table.ts    all metrics of a wrapper, with their help texts
 *   serving-metrics.ts  those that a relay has too
 *   relay-metrics.ts    all metrics of a relay
 *   metric-readers.ts   how they are read
 *   metrics-text.ts     the response, which all callers share
 *   process-metrics.ts  those of the process
 */

/** The metrics of a program and of its process. */
export interface Metrics {
  readonly registry: Registry;
  /** Reads the program. Call it before each scrape: its metrics share this reading. */
  read(): void;
}

/** The metrics of a wrapper. */
export function createMetrics(
  reader: NodeReader,
  log: LogLosses = { dropped: 0 },
  rules = new KernelRules(reader),
): Metrics {
  const read = (): WrapperSources => ({ reading: reader.read(), log, rules });
  const metrics = registerAll('kube_proxy_wrapper_', WRAPPER_METRICS, read);
  metrics.registry.registerMetric(reader.proxy.eventHandling);
  return metrics;
}

/**
 * Registers the metrics of a program and of its process. They are read from what `read` returns, once for a scrape.
 *
 * @param prefix of the names
 */
export function registerAll<Sources>(
  prefix: string,
  metrics: readonly Metric<Sources>[],
  read: () => Sources,
): Metrics {
  const registry = new Registry();
  registerProcessMetrics(registry);
  let sources = read();
  for (const metric of metrics) {
    if (metric.read(sources) === undefined) continue;
    register(registry, { ...metric, name: prefix + metric.name }, () => metric.read(sources));
  }
  return {
    registry,
    read() {
      sources = read();
    },
  };
}

/** What a counter and a gauge have in common. */
interface Written {
  reset(): void;
  remove(): void;
  inc(labels: Record<string, string>, value: number): void;
}

function register(
  registry: Registry,
  { type, name, help, labels }: Omit<Metric<never>, 'read'>,
  read: () => Iterable<Sample> | undefined,
): void {
  const options = { name, help, labelNames: labels, registers: [registry] };
  const collect = (): void => {
    registered.reset();
    // reset() gives a metric without labels the value 0. What is not known has no sample.
    if (labels.length === 0) registered.remove();
    for (const [value, ...values] of read() ?? []) {
      const entries = labels.map((label, index) => [label, values[index] ?? '']);
      registered.inc(Object.fromEntries(entries), value);
    }
  };
  const registered: Written =
    type === 'counter' ? new Counter({ ...options, collect }) : new Gauge({ ...options, collect });
}
