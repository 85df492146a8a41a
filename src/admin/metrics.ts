import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { NodeProxy } from '../proxy/node-proxy.ts';
import { questionPath } from '../proxy/question.ts';

/** How often the delay of the event loop is looked at, in milliseconds. The default of 10 wakes an idle process. */
const EVENT_LOOP_TICK_MS = 100;

/** Counts lines of the log that are lost, since the start. */
export interface LogLosses {
  readonly dropped: number;
}

/** Gauges and counters of the proxy, read from its state at each scrape: nothing is counted twice. */
export function createMetrics(proxy: NodeProxy, log: LogLosses = { dropped: 0 }): Registry {
  const registry = new Registry();
  collectDefaultMetrics({
    register: registry,
    eventLoopMonitoringPrecision: EVENT_LOOP_TICK_MS,
  });
  registerViews(registry, proxy);
  registerViewBudget(registry, proxy);
  registerDecisions(registry, proxy);
  registerWorld(registry, proxy);
  registerSources(registry, proxy);
  registerUpstream(registry, proxy);
  registerSnapshots(registry, proxy);
  register(registry, {
    name: 'client_watches',
    help: 'Watches that clients have open.',
    labels: [],
    collect: (set) => set({}, proxy.doors.watches),
  });
  registerDoors(registry, proxy);
  registerAccess(registry, proxy);
  registerForwarding(registry, proxy);
  registerPolicyEvents(registry, proxy);
  register(registry, {
    name: 'log_lines_dropped_total',
    help: 'Lines of the log that are lost, for they could not be written.',
    labels: [],
    collect: (set) => set({}, log.dropped),
  });
  return registry;
}

function registerDoors(registry: Registry, { doors }: NodeProxy): void {
  const { listeners, certificate, refusals } = doors;
  register(registry, {
    name: 'client_connections',
    help: 'Connections that clients have open.',
    labels: ['listener'],
    collect(set) {
      for (const { name, door } of listeners) set({ listener: name }, door.connections);
    },
  });
  register(registry, {
    name: 'client_connections_refused_total',
    help: 'Connections closed, and requests refused, because there were too many (maxConnections).',
    labels: ['listener'],
    collect(set) {
      for (const { name, door } of listeners) set({ listener: name }, door.refused);
    },
  });
  register(registry, {
    name: 'client_requests_refused_total',
    help: 'Requests and connections refused, and clients given up, by listener and reason.',
    labels: ['listener', 'reason'],
    collect(set) {
      for (const { count, ...labels } of refusals.counts()) set(labels, count);
    },
  });
  register(registry, {
    name: 'client_watches_stalled_total',
    help: 'Watches, and lists, broken off because their client took nothing for stalledClientSeconds.',
    labels: ['listener'],
    collect(set) {
      for (const { name, stalled } of listeners) set({ listener: name }, stalled);
    },
  });
  if (certificate === undefined) return;
  register(registry, {
    name: 'https_certificate_expiry_timestamp_seconds',
    help: 'When the certificate of the https listener expires.',
    labels: [],
    collect: (set) => set({}, certificate.expires / 1000),
  });
  register(registry, {
    name: 'https_certificate_failures_total',
    help: 'Attempts to use new certificate files that failed; the old ones are kept.',
    labels: [],
    collect: (set) => set({}, certificate.failures),
  });
}

function registerAccess(registry: Registry, { doors: { reviews } }: NodeProxy): void {
  if (reviews === undefined) return;
  register(registry, {
    name: 'access_reviews_total',
    help: 'Times the API server was asked what a caller may read.',
    labels: [],
    collect: (set) => set({}, reviews.counts.asked),
  });
  register(registry, {
    name: 'access_reviews_stale_total',
    help: 'Times the last answer about a caller was kept because the API server was away.',
    labels: [],
    collect: (set) => set({}, reviews.counts.stale),
  });
}

function registerForwarding(
  registry: Registry,
  { doors: { events, forwarding } }: NodeProxy,
): void {
  if (events !== undefined) {
    register(registry, {
      name: 'events_total',
      help: 'Events that were written over plain http: forwarded, or the rule by which they were refused.',
      labels: ['result'],
      collect(set) {
        for (const [result, count] of Object.entries(events.counts)) set({ result }, count);
      },
    });
  }
  if (forwarding === undefined) return;
  register(registry, {
    name: 'forwarded_requests',
    help: 'Requests that are being forwarded to the API server over https.',
    labels: [],
    collect: (set) => set({}, forwarding.active),
  });
  register(registry, {
    name: 'forwarded_requests_refused_total',
    help: 'Requests that were not forwarded because there were too many, of one caller or of the listener.',
    labels: ['bound'],
    collect(set) {
      for (const [bound, count] of Object.entries(forwarding.refused)) set({ bound }, count);
    },
  });
}

function registerPolicyEvents(registry: Registry, { policyEvents }: NodeProxy): void {
  if (policyEvents === undefined) return;
  register(registry, {
    name: 'policy_events_total',
    help: 'Events on Services with an invalid policy, by what became of them.',
    labels: ['result'],
    collect(set) {
      for (const [result, count] of Object.entries(policyEvents.counts)) set({ result }, count);
    },
  });
}

type Source = NodeProxy['views']['sources'][number];

/** Metrics that each view has: name, help, value. */
const VIEW_METRICS: readonly [
  string,
  string,
  (source: Source, views: NodeProxy['views']) => number | undefined,
][] = [
  ['view_objects', 'Objects that a view shows.', ({ view }) => view.size],
  ['view_bytes', 'Bytes of the objects that a view shows.', ({ view }) => view.bytes],
  [
    'view_started',
    '1 once a view is complete and served; absent while view_refused is 1.',
    (source, views) => (views.refusalOf(source) === undefined ? +source.view.started : undefined),
  ],
  [
    'view_refused',
    '1 while the API server does not take the question of a view, or there is no room for it, and its clients are told so.',
    (source, views) => +(views.refusalOf(source) !== undefined),
  ],
  [
    'view_from_snapshot',
    '1 while a view shows what was on disk, and the API server has not listed since the start.',
    ({ status }) => +(status.restoredFrom !== undefined),
  ],
  ['upstream_connected', '1 while a watch is open.', ({ status }) => +status.connected],
  [
    'upstream_last_contact_timestamp_seconds',
    'When the API server was last heard of; absent before the first time.',
    // 0 would be long ago, for an alert.
    ({ status }) => (status.lastContact === 0 ? undefined : status.lastContact / 1000),
  ],
  ['upstream_lists_total', 'Lists asked of the API server.', ({ status }) => status.lists],
  ['upstream_watches_total', 'Watches asked of the API server.', ({ status }) => status.watches],
  [
    'events_injected_total',
    'Events sent because the world had changed, not the object.',
    ({ projection }) => projection?.counters.injected,
  ],
  [
    'events_suppressed_total',
    'Changes of an object that alter nothing this node sees.',
    ({ projection }) => projection?.counters.suppressed,
  ],
];

function registerViews(registry: Registry, proxy: NodeProxy): void {
  for (const [name, help, read] of VIEW_METRICS) {
    register(registry, {
      name,
      help,
      labels: ['collection', 'encoding'],
      collect(set) {
        for (const source of proxy.views.sources) {
          const { question } = source;
          const value = read(source, proxy.views);
          if (value === undefined) continue;
          set({ collection: questionPath(question), encoding: question.encoding }, value);
        }
      },
    });
  }
}

function registerDecisions(registry: Registry, proxy: NodeProxy): void {
  register(registry, {
    name: 'service_decisions',
    help: 'Services by the keys that win, or by why no key is asked.',
    labels: ['collection', 'encoding', 'winner'],
    collect(set) {
      for (const { question, projection } of proxy.views.sources) {
        const common = { collection: questionPath(question), encoding: question.encoding };
        for (const [winner, count] of projection?.winners() ?? [])
          set({ ...common, winner }, count);
      }
    },
  });
  const handled = new Histogram({
    name: 'kube_proxy_wrapper_event_handling_seconds',
    help: 'Time from the arrival of events of the API server until all that follows from them was written to clients.',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers: [registry],
  });
  proxy.timing.onHandled = (seconds) => handled.observe(seconds);
}

function registerUpstream(registry: Registry, { failover }: NodeProxy): void {
  register(registry, {
    name: 'upstream_server_in_use',
    help: '1 for the API server that is in use, 0 for the others.',
    labels: ['server'],
    collect(set) {
      // Several may be told apart by their path only; a user and password never show.
      for (const [index, { host, pathname }] of failover.servers.entries())
        set({ server: pathname === '/' ? host : host + pathname }, +(index === 0));
    },
  });
  register(registry, {
    name: 'upstream_failovers_total',
    help: 'Times that another API server was taken.',
    labels: [],
    collect: (set) => set({}, failover.switches),
  });
}

/** Nothing without a state directory: an alert on absence would be a false one. */
function registerSnapshots(registry: Registry, { snapshots }: NodeProxy): void {
  if (snapshots === undefined) return;
  register(registry, {
    name: 'snapshot_bytes',
    help: 'Bytes of the snapshots on disk.',
    labels: [],
    collect: (set) => set({}, snapshots.bytes),
  });
  register(registry, {
    name: 'snapshot_writes_total',
    help: 'Snapshots written.',
    labels: [],
    collect: (set) => set({}, snapshots.counters.writes),
  });
  register(registry, {
    name: 'snapshot_write_failures_total',
    help: 'Snapshots that could not be written.',
    labels: [],
    collect: (set) => set({}, snapshots.counters.failures),
  });
  register(registry, {
    name: 'snapshot_set_aside_total',
    help: 'Snapshots that were not to be trusted.',
    labels: ['cause'],
    collect(set) {
      for (const [cause, count] of Object.entries(snapshots.counters.setAside))
        set({ cause }, count);
    },
  });
}

function registerWorld(registry: Registry, proxy: NodeProxy): void {
  register(registry, {
    name: 'services',
    help: 'Services by what applies to them: annotation, default, or why they are left alone.',
    labels: ['policy'],
    collect(set) {
      // Always there, so that an alert on it need not tell 0 from absent.
      set({ policy: 'invalid-policy' }, 0);
      for (const [policy, count] of proxy.world.policies.countByKind()) set({ policy }, count);
    },
  });
  register(registry, {
    name: 'services_dry_run',
    help: 'Services that are decided about, but shown unfiltered: a dry run.',
    labels: [],
    collect(set) {
      const { policies } = proxy.world;
      let count = 0;
      for (const service of policies.services())
        count += +(policies.wanted(service).dryRun === true);
      set({}, count);
    },
  });
  register(registry, {
    name: 'node_set_nodes',
    help: 'Nodes in a node set.',
    labels: ['selector'],
    collect(set) {
      for (const [selector, { members }] of proxy.world.nodeSets) set({ selector }, members.size);
    },
  });
  register(registry, {
    name: 'node_set_refused',
    help: '1 if the API server refuses a node set.',
    labels: ['selector'],
    collect(set) {
      for (const [selector, { state, needed, refusal }] of proxy.world.nodeSets) {
        if (needed && state !== 'overLimit') set({ selector }, +(refusal !== undefined));
      }
    },
  });
  register(registry, {
    name: 'node_sets',
    help: 'Node sets: in use, lingering (no policy needs them any more), or over_limit (maxNodeSets; not watched).',
    labels: ['state'],
    collect(set) {
      const all = [...proxy.world.nodeSets.values()];
      const overLimit = all.filter(({ state }) => state === 'overLimit').length;
      const lingering = all.filter(({ needed }) => !needed).length;
      set({ state: 'in_use' }, all.length - overLimit - lingering);
      set({ state: 'lingering' }, lingering);
      set({ state: 'over_limit' }, overLimit);
    },
  });
}

function registerSources(registry: Registry, proxy: NodeProxy): void {
  register(registry, {
    name: 'services_withheld',
    help: 'Services hidden from this node because all their traffic goes to the cloud.',
    labels: [],
    collect: (set) => set({}, proxy.world.withheld.size),
  });
  register(registry, {
    name: 'filter_off',
    help: '1 while an annotation of the own Node switches filtering off.',
    labels: [],
    collect: (set) => set({}, +(proxy.world.standpoint?.off ?? false)),
  });
  register(registry, {
    name: 'source_refused',
    help: '1 if the API server refuses a collection that policies depend on.',
    labels: ['collection'],
    collect(set) {
      for (const { question, refusal } of proxy.worldSources.sources) {
        set({ collection: questionPath(question) }, +(refusal !== undefined));
      }
    },
  });
}

/** Views of other clients than kube-proxy: what they take of what there is for them. */
function registerViewBudget(registry: Registry, { views: { budget } }: NodeProxy): void {
  const { maxViews, maxViewBytes } = budget.limits;
  const gauges: readonly (readonly [string, string, () => number])[] = [
    ['views', 'Views that count against maxViews.', () => budget.used.views],
    ['views_limit', 'The setting maxViews.', () => maxViews],
    ['bytes', 'Estimated memory of these views.', () => budget.used.bytes],
    ['bytes_limit', 'The setting maxViewBytes.', () => maxViewBytes],
  ];
  for (const [name, help, value] of gauges) {
    const collect: Series['collect'] = (set) => set({}, value());
    register(registry, { name: `view_budget_${name}`, help, labels: [], collect });
  }
  register(registry, {
    name: 'view_budget_refusals_total',
    help: 'Views refused or closed for lack of room, by the limit: of all (views, bytes) or of one client (caller_views, caller_bytes).',
    labels: ['reason'],
    collect(set) {
      for (const [reason, count] of Object.entries(budget.refusals)) set({ reason }, count);
    },
  });
}

interface Series {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly collect: (set: (labels: Record<string, string>, value: number) => void) => void;
}

/** A metric that is read at each scrape; by Prometheus' naming rules a counter ends in `_total`. */
function register(registry: Registry, { name, help, labels, collect }: Series): void {
  const common = {
    name: `kube_proxy_wrapper_${name}`,
    help,
    labelNames: labels,
    registers: [registry],
  };
  if (name.endsWith('_total')) {
    new Counter({
      ...common,
      collect() {
        this.reset();
        collect((values, value) => this.inc(values, value));
      },
    });
  } else {
    new Gauge({
      ...common,
      collect() {
        this.reset();
        collect((values, value) => this.set(values, value));
      },
    });
  }
}
