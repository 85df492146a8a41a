import { Counter, collectDefaultMetrics, Gauge, Registry } from '@prometheus-io/client';
import type { NodeProxy } from '../proxy/node-proxy.ts';
import { questionPath } from '../proxy/question.ts';

/** Gauges and counters of the proxy, read from its state at each scrape: nothing is counted twice. */
export function createMetrics(proxy: NodeProxy): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  registerViews(registry, proxy);
  registerWorld(registry, proxy);
  register(registry, {
    name: 'client_watches',
    help: 'Watches that clients have open.',
    labels: [],
    collect: (set) => set({}, proxy.listener.watches),
  });
  return registry;
}

type Source = NodeProxy['views']['sources'][number];

/** Metrics that each view has: name, help, value. */
const VIEW_METRICS: readonly [string, string, (source: Source) => number | undefined][] = [
  ['view_objects', 'Objects that a view shows.', ({ view }) => view.size],
  ['view_bytes', 'Bytes of the objects that a view shows.', ({ view }) => view.bytes],
  ['view_started', '1 once a view is complete and served.', ({ view }) => +view.started],
  ['upstream_connected', '1 while a watch is open.', ({ status }) => +status.connected],
  [
    'upstream_last_contact_timestamp_seconds',
    'When the API server was last heard of.',
    ({ status }) => status.lastContact / 1000,
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
          const value = read(source);
          if (value === undefined) continue;
          set({ collection: questionPath(question), encoding: question.encoding }, value);
        }
      },
    });
  }
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
      for (const [selector, { refusal }] of proxy.world.nodeSets) {
        set({ selector }, +(refusal !== undefined));
      }
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
