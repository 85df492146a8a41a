import { queryPath } from '../proxy/api/query.ts';
import type { NodeProxy } from '../proxy/node-proxy.ts';

/** Number of log lines that are lost since the start. */
export interface LogLosses {
  readonly dropped: number;
}

/** What metrics are read from. */
export interface MetricSources {
  readonly proxy: NodeProxy;
  readonly log: LogLosses;
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
export function single(read: (proxy: NodeProxy, log: LogLosses) => number | undefined): Reader {
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
  read: (proxy: NodeProxy) => Iterable<Sample> | undefined,
): Reader {
  return { labels: [label], read: ({ proxy }) => read(proxy) };
}

/** Counts by the value of a label, as samples. */
export function samples<Label extends string>(
  counts: Readonly<Record<Label, number>> | undefined,
): Sample[] | undefined {
  return counts && Object.entries<number>(counts).map(([label, count]): Sample => [count, label]);
}

type Views = NodeProxy['views'];
type Source = Views['sources'][number];

/** Reads one value of each view; one that is undefined is left out. */
export function perView(read: (source: Source, views: Views) => number | undefined): Reader {
  return {
    labels: ['collection', 'encoding'],
    *read({ proxy: { views } }) {
      for (const source of views.sources) {
        const value = read(source, views);
        if (value === undefined) continue;
        yield [value, queryPath(source.query), source.query.encoding];
      }
    },
  };
}

/** Number of Services by winning key. */
export const winners: Reader = {
  labels: ['collection', 'encoding', 'winner'],
  *read({ proxy }) {
    for (const { query, projection } of proxy.views.sources) {
      for (const [winner, count] of projection?.winners() ?? [])
        yield [count, queryPath(query), query.encoding, winner];
    }
  },
};

type HttpListener = NodeProxy['listeners']['handlers'][number];

/** Reads one value of each listener for clients. */
export function perListener(read: (listener: HttpListener) => number): Reader {
  return by('listener', ({ listeners }) =>
    listeners.handlers.map((listener): Sample => [read(listener), listener.name]),
  );
}

type NodeSets = NodeProxy['topology']['nodeSets'];
type NodeSet = NodeSets extends Iterable<readonly [string, infer Set]> ? Set : never;

/** Reads one value of each node set; one that is undefined is left out. */
export function perNodeSet(read: (set: NodeSet) => number | undefined): Reader {
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

export function nodeSetStates({ topology }: NodeProxy): Sample[] {
  const all = [...topology.nodeSets.values()];
  const overLimit = all.filter(({ state }) => state === 'overLimit').length;
  const lingering = all.filter(({ needed }) => !needed).length;
  return [
    [all.length - overLimit - lingering, 'in_use'],
    [lingering, 'lingering'],
    [overLimit, 'over_limit'],
  ];
}

/** Refused requests by listener and reason. */
export const refusals: Reader = {
  labels: ['listener', 'reason'],
  *read({ proxy }) {
    for (const { count, listener, reason } of proxy.listeners.refusals.counts()) {
      yield [count, listener, reason];
    }
  },
};

export function* servicesByPolicy({ topology }: NodeProxy): Iterable<Sample> {
  // Always present, so that an alert does not have to distinguish 0 from absent.
  yield [0, 'invalid-policy'];
  for (const [policy, count] of topology.policies.countByKind()) yield [count, policy];
}

export function countDryRuns({ topology: { policies } }: NodeProxy): number {
  let count = 0;
  for (const service of policies.services()) count += +(policies.wanted(service).dryRun === true);
  return count;
}

export function serversInUse({ failover }: NodeProxy): Sample[] {
  // Servers can differ only in their path. User and password are never part of a label.
  return failover.servers.map(({ host, pathname }, index) => [
    +(index === 0),
    pathname === '/' ? host : host + pathname,
  ]);
}

export function refusedSources({ clusterWatchers }: NodeProxy): Sample[] {
  return clusterWatchers.sources.map(({ query, refusal }) => [
    +(refusal !== undefined),
    queryPath(query),
  ]);
}
