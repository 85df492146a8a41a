import type { ListenerReading } from '../../diagnosis/reading/clients.ts';
import type { NodeSetReading, ViewReading } from '../../diagnosis/reading/collections.ts';
import type { NodeReading, ServingReading } from '../../diagnosis/reading/node-reading.ts';
import type { EndpointNumbers, ServiceTally } from '../../diagnosis/reading/service-tally.ts';
import { VERSION } from '../../version.ts';
import type { KernelRules } from '../status/kernel-rules.ts';

/** Number of log lines that are lost since the start. */
export interface LogLosses {
  readonly dropped: number;
}

/** What metrics are read from. */
export interface MetricSources<Reading> {
  readonly reading: Reading;
  readonly log: LogLosses;
}

/** What those of a wrapper are read from. */
export interface WrapperSources extends MetricSources<NodeReading> {
  /** Whether the kernel has kube-proxy's rules, as last found. */
  readonly rules: Pick<KernelRules, 'last'>;
}

/** One value, and the values of the labels in the order in which the metric names them. */
export type Sample = readonly [value: number, ...labels: string[]];

/** A metric that is read at each scrape. */
export interface Metric<Sources> {
  readonly type: 'counter' | 'gauge';
  /** Without the prefix of the program. The name of a counter ends in `_total`. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Undefined if this process does not have the metric. Then it is not registered at all. */
  readonly read: (sources: Sources) => Iterable<Sample> | undefined;
}

/** Labels of a metric, and how it is read. */
export type Reader<Sources> = Pick<Metric<Sources>, 'labels' | 'read'>;

/** The same, from a reading alone. */
type Reading<From> = Reader<{ readonly reading: From }>;

export function gauge<Sources>(
  name: string,
  help: string,
  reader: Reader<Sources>,
): Metric<Sources> {
  return { type: 'gauge', name, help, ...reader };
}

export function counter<Sources>(
  name: string,
  help: string,
  reader: Reader<Sources>,
): Metric<Sources> {
  return { type: 'counter', name, help, ...reader };
}

/** Reads a single value; undefined if this process has no such metric. */
export function single<From>(read: (reading: From) => number | undefined): Reading<From> {
  return by([], (reading: From) => {
    const value = read(reading);
    return value === undefined ? undefined : [[value]];
  });
}

/** Reads one value for each combination of these labels. */
export function by<From>(
  labels: readonly string[],
  read: (reading: From) => Iterable<Sample> | undefined,
): Reading<From> {
  return { labels, read: ({ reading }) => read(reading) };
}

/** Counts by the value of a label, as samples. */
export function samples<Label extends string>(
  counts: Readonly<Record<Label, number>> | undefined,
): Sample[] | undefined {
  return counts && Object.entries<number>(counts).map(([label, count]): Sample => [count, label]);
}

/** The version of the wrapper and of Node.js. */
export const buildInfo = by(['version', 'node_version'], () => [[1, VERSION, process.version]]);

/** How the values of views that share their labels become one. */
type Combine = (values: readonly number[]) => number;

const sum: Combine = (values) => values.reduce((total, value) => total + value, 0);

/**
 * Reads one value of each view; one that is undefined is left out. Clients choose the selectors of their queries, so
 * the views of these share a series for each collection. Otherwise a client could create any number of series.
 *
 * @param combine for views that share a series; default: the sum
 */
export function perView<From extends Pick<ServingReading, 'views'>>(
  read: (view: ViewReading, reading: From) => number | undefined,
  combine: Combine = sum,
): Reading<From> {
  return by(['collection', 'encoding'], (reading: From) => {
    const values = reading.views.flatMap((view): Sample[] => {
      const value = read(view, reading);
      return value === undefined ? [] : [[value, view.series, view.query.encoding]];
    });
    return combineSamples(values, combine);
  });
}

function combineSamples(all: Iterable<Sample>, combine: Combine): Sample[] {
  const series = Map.groupBy(all, ([, ...labels]) => labels.join('\n'));
  return Array.from(series.values(), (same): Sample => {
    const [[, ...labels]] = same as [Sample];
    return [combine(same.map(([value]) => value)), ...labels];
  });
}

/** Number of Services by winning key, see ServiceTally. */
export const winners = by(['collection', 'encoding', 'winner'], (reading: NodeReading) => {
  const { views, services } = reading;
  const counts = views.flatMap(({ query, series }) =>
    Array.from(services.of(query)?.winners ?? [], ([winner, count]): Sample => {
      return [count, series, query.encoding, winner];
    }),
  );
  return combineSamples(counts, sum);
});

/** Reads one value of each listener for clients. */
export function perListener(
  read: (listener: ListenerReading) => number,
): Reading<Pick<ServingReading, 'clients'>> {
  return by(['listener'], ({ clients }: Pick<ServingReading, 'clients'>) =>
    clients.listeners.map((listener): Sample => [read(listener), listener.name]),
  );
}

/** Reads one value of each node set; one that is undefined is left out. */
export function perNodeSet(
  read: (set: NodeSetReading) => number | undefined,
): Reading<NodeReading> {
  return by(['selector'], ({ nodeSets }: NodeReading) =>
    nodeSets.flatMap((set): Sample[] => {
      const value = read(set);
      return value === undefined ? [] : [[value, set.selector]];
    }),
  );
}

export function nodeSetStates({ nodeSets }: NodeReading): Sample[] {
  const overLimit = nodeSets.filter(({ state }) => state === 'overLimit').length;
  const lingering = nodeSets.filter(({ needed }) => !needed).length;
  return [
    [nodeSets.length - overLimit - lingering, 'in_use'],
    [lingering, 'lingering'],
    [overLimit, 'over_limit'],
  ];
}

/** Reads what kube-proxy sees. There is no sample before the view is complete: 0 would be wrong. */
export function ofServices(
  labels: readonly string[],
  read: (services: ServiceTally) => Sample[],
): Reading<NodeReading> {
  return by(labels, ({ view, services }: NodeReading) => {
    const tally = services.of(view);
    return tally === undefined ? [] : read(tally);
  });
}

/** Endpoints of the view that kube-proxy reads, by whether a policy selects them. */
export function endpointNumbers(read: (numbers: EndpointNumbers) => number): Reading<NodeReading> {
  return ofServices(['filtered'], ({ filtered, unfiltered }) => [
    [read(filtered), 'true'],
    [read(unfiltered), 'false'],
  ]);
}

/** Services whose traffic fails, by the reason. A port that no endpoint has is ready nowhere. */
export const withoutReadyEndpoints = ofServices(['reason'], ({ problems }) => [
  [problems.withoutEndpoints.length, 'excluded'],
  [problems.withoutReady.length, 'not_ready_here'],
  [problems.noneReady.length + problems.portMismatch.length, 'not_ready_anywhere'],
]);

export function* servicesByPolicy({ services }: NodeReading): Iterable<Sample> {
  // Always present, so that an alert does not have to distinguish 0 from absent.
  yield [0, 'invalid-policy'];
  for (const [policy, count] of services.policies) yield [count, policy];
}

const RULES: Readonly<Record<string, number>> = { ok: 1, problem: 0 };

/** Whether the kernel has kube-proxy's rules; no sample if that is not known. */
export const kernelRules: Reader<WrapperSources> = {
  labels: [],
  read: ({ rules }) => {
    const value = RULES[rules.last?.state ?? ''];
    return value === undefined ? [] : [[value]];
  },
};

export function serversInUse({ upstream: { servers } }: ServingReading): Sample[] {
  // Servers can differ only in their path. User and password are never part of a label.
  return servers.map(({ host, pathname }, index) => [
    +(index === 0),
    pathname === '/' ? host : host + pathname,
  ]);
}
