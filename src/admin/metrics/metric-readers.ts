import { knownQueryTest } from '../../client/api/kube-proxy-queries.ts';
import { collectionPath, type Query, queryPath } from '../../client/api/query.ts';
import type { EndpointNumbers, ServiceTally } from '../../diagnosis/reading/service-tally.ts';
import type { ViewSource } from '../../node/views/view-source.ts';
import type { ProxyState } from '../../server/node-proxy.ts';
import { winnerText } from '../../topology/state/service-outcome.ts';
import { VERSION } from '../../version.ts';
import type { KernelRules } from '../status/kernel-rules.ts';

/** Number of log lines that are lost since the start. */
export interface LogLosses {
  readonly dropped: number;
}

/** What metrics are read from. */
export interface MetricSources {
  readonly proxy: ProxyState;
  readonly log: LogLosses;
  /** Whether the kernel has kube-proxy's rules, as last found. */
  readonly rules: Pick<KernelRules, 'last'>;
  /** What kube-proxy sees now; undefined: there is no complete view of endpoints. */
  readonly tally: () => ServiceTally | undefined;
}

/** One value, and the values of the labels in the order in which the metric names them. */
export type Sample = readonly [value: number, ...labels: string[]];

/** A metric that is read at each scrape. */
export interface Metric {
  readonly type: 'counter' | 'gauge';
  /** Without the prefix `kube_proxy_wrapper_`. The name of a counter ends in `_total`. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Undefined if this process does not have the metric. Then it is not registered at all. */
  readonly read: (sources: MetricSources) => Iterable<Sample> | undefined;
}

/** Labels of a metric, and how it is read. */
export type Reader = Pick<Metric, 'labels' | 'read'>;

/** Reads a single value; undefined if this process has no such metric. */
export function single(read: (proxy: ProxyState, log: LogLosses) => number | undefined): Reader {
  return {
    labels: [],
    read: ({ proxy, log }) => {
      const value = read(proxy, log);
      return value === undefined ? undefined : [[value]];
    },
  };
}

/** Reads one value for each value of a label. */
export function by(
  label: string,
  read: (proxy: ProxyState) => Iterable<Sample> | undefined,
): Reader {
  return { labels: [label], read: ({ proxy }) => read(proxy) };
}

/** Counts by the value of a label, as samples. */
export function samples<Label extends string>(
  counts: Readonly<Record<Label, number>> | undefined,
): Sample[] | undefined {
  return counts && Object.entries<number>(counts).map(([label, count]): Sample => [count, label]);
}

/** The version of the wrapper and of Node.js. */
export const buildInfo: Reader = {
  labels: ['version', 'node_version'],
  read: () => [[1, VERSION, process.version]],
};

/** How the values of views that share their labels become one. */
type Combine = (values: readonly number[]) => number;

const sum: Combine = (values) => values.reduce((total, value) => total + value, 0);
export const least: Combine = (values) => Math.min(...values);
export const greatest: Combine = (values) => Math.max(...values);

/**
 * Reads one value of each view; one that is undefined is left out. Clients choose the selectors of their queries, so
 * the views of these share a series for each collection. Otherwise a client could create any number of series.
 *
 * @param combine for views that share a series; default: the sum
 */
export function perView(
  read: (source: ViewSource, views: ProxyState['views']) => number | undefined,
  combine: Combine = sum,
): Reader {
  const sampleOf = (source: ViewSource, views: ProxyState['views']): Sample[] => {
    const value = read(source, views);
    return value === undefined ? [] : [[value]];
  };
  return {
    labels: ['collection', 'encoding'],
    read: ({ proxy }) => combineSamples(readViews(proxy, sampleOf), combine),
  };
}

/** The samples of each view, with its labels in front of their own. */
function* readViews(
  { views, topology }: ProxyState,
  read: (source: ViewSource, views: ProxyState['views']) => Iterable<Sample>,
): Iterable<Sample> {
  const collection = collectionLabel(topology.nodeName);
  for (const source of views.sources) {
    for (const [value, ...labels] of read(source, views)) {
      yield [value, collection(source.query), source.query.encoding, ...labels];
    }
  }
}

/** The path and query of a view of kube-proxy; the path alone for all other views of the collection together. */
function collectionLabel(nodeName: string): (query: Query) => string {
  const isKnown = knownQueryTest(nodeName);
  return (query) => (isKnown(query) ? queryPath(query) : collectionPath(query.resource, ''));
}

function combineSamples(all: Iterable<Sample>, combine: Combine): Sample[] {
  const series = Map.groupBy(all, ([, ...labels]) => labels.join('\n'));
  return Array.from(series.values(), (same): Sample => {
    const [[, ...labels]] = same as [Sample];
    return [combine(same.map(([value]) => value)), ...labels];
  });
}

/** Number of Services by winning key. */
export const winners: Reader = {
  labels: ['collection', 'encoding', 'winner'],
  read: ({ proxy }) => combineSamples(readViews(proxy, countWinners), sum),
};

function countWinners({ projection }: ViewSource): Sample[] {
  const byWinner = Map.groupBy(projection?.outcomes() ?? [], winnerText);
  return Array.from(byWinner, ([winner, outcomes]) => [outcomes.length, winner]);
}

type ListenerHandler = ProxyState['listeners']['handlers'][number];

/** Reads one value of each listener for clients. */
export function perListener(read: (listener: ListenerHandler) => number): Reader {
  return by('listener', ({ listeners }) =>
    listeners.handlers.map((listener): Sample => [read(listener), listener.name]),
  );
}

type NodeSets = ProxyState['topology']['nodeSets'];
type WatchedNodeSet = NodeSets extends Iterable<readonly [string, infer Set]> ? Set : never;

/** Reads one value of each node set; one that is undefined is left out. */
export function perNodeSet(read: (set: WatchedNodeSet) => number | undefined): Reader {
  return {
    labels: ['selector'],
    *read({ proxy: { topology } }) {
      for (const [selector, set] of topology.nodeSets) {
        const value = read(set);
        if (value !== undefined) yield [value, selector];
      }
    },
  };
}

export function nodeSetStates({ topology }: ProxyState): Sample[] {
  const all = [...topology.nodeSets.values()];
  const overLimit = all.filter(({ state }) => state === 'overLimit').length;
  const lingering = all.filter(({ needed }) => !needed).length;
  return [
    [all.length - overLimit - lingering, 'in_use'],
    [lingering, 'lingering'],
    [overLimit, 'over_limit'],
  ];
}

/** Reads what kube-proxy sees. There is no sample before the view is complete: 0 would be wrong. */
function ofTally(labels: readonly string[], read: (tally: ServiceTally) => Sample[]): Reader {
  return {
    labels,
    read({ tally }) {
      const found = tally();
      return found === undefined ? [] : read(found);
    },
  };
}

/** Endpoints of the view that kube-proxy reads, by whether a policy selects them. */
export function endpointNumbers(read: (numbers: EndpointNumbers) => number): Reader {
  return ofTally(['filtered'], ({ filtered, unfiltered }) => [
    [read(filtered), 'true'],
    [read(unfiltered), 'false'],
  ]);
}

/** Services whose traffic fails, by the reason. */
export const withoutReadyEndpoints = ofTally(['reason'], (tally) => [
  [tally.withoutEndpoints.length, 'excluded'],
  [tally.withoutReady.length, 'not_ready_here'],
  [tally.noneReady.length, 'not_ready_anywhere'],
]);

/** Requests by listener and status code. */
export const requests: Reader = {
  labels: ['listener', 'code'],
  read: ({ proxy }) => proxy.listeners.requests.counts,
};

/** Refused requests by listener and reason. */
export const refusals: Reader = {
  labels: ['listener', 'reason'],
  read: ({ proxy }) => proxy.listeners.refusals.counter.counts,
};

export function* servicesByPolicy({ topology }: ProxyState): Iterable<Sample> {
  // Always present, so that an alert does not have to distinguish 0 from absent.
  yield [0, 'invalid-policy'];
  for (const [policy, count] of topology.policies.countByKind()) yield [count, policy];
}

const RULES: Readonly<Record<string, number>> = { ok: 1, problem: 0 };

/** Whether the kernel has kube-proxy's rules; no sample if that is not known. */
export const kernelRules: Reader = {
  labels: [],
  read: ({ rules }) => {
    const value = RULES[rules.last?.state ?? ''];
    return value === undefined ? [] : [[value]];
  },
};

/** Services with a policy that is a dry run. */
export const dryRuns = ofTally([], (tally) => [[tally.dryRuns]]);

export function serversInUse({ upstream: { failover } }: ProxyState): Sample[] {
  // Servers can differ only in their path. User and password are never part of a label.
  return failover.servers.map(({ host, pathname }, index) => [
    +(index === 0),
    pathname === '/' ? host : host + pathname,
  ]);
}

export function refusedSources({ clusterWatchers }: ProxyState): Sample[] {
  return clusterWatchers.map(({ query, refusal }) => [+(refusal !== undefined), queryPath(query)]);
}
