import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { relayOrder } from '../../src/node/relays/select-relays.ts';
import type { Bench } from '../bench.ts';
import { startAsking } from '../client.ts';
import { nodeName, SITE_KEY, type Site, ZONE_KEY } from './site.ts';

/** Versions, by collection. */
export type Snapshot = Readonly<Record<string, string>>;

/** Nodes that start together, each by the choice of servers of its own. */
export interface SimulatedSite {
  /** The API server, as nodes reach it, and its authority. */
  readonly server: string;
  readonly caFile: string;
  readonly relayCaFile: string;
  readonly servername: string;
  /** Versions of the snapshots that they would have, by collection. */
  readonly snapshot: Snapshot;
  /** The version that they must reach. */
  readonly target: string;
  /** Which nodes each reads for its decisions. */
  readonly selectors: readonly string[];
  readonly nodes: readonly {
    readonly name: string;
    readonly token: string;
    /** URLs, the preferred one first; none: it reads from the API server. */
    readonly relays: readonly string[];
  }[];
}

export interface FollowedNode {
  readonly name: string;
  /** From its start until it had the newest state of all that it reads, in milliseconds; undefined: not yet. */
  readonly newestMs?: number | undefined;
  /** The host of the relay in use; undefined: an API server is. */
  readonly relay?: string | undefined;
  /** How often the server in use has changed. */
  readonly switches: number;
  /** Open watches. */
  readonly watches: number;
  /** What it would have in its snapshots. */
  readonly versions: Snapshot;
}

/** What a node has received, compared with what the API server has sent to another one at the same time. */
export interface Lateness {
  readonly name: string;
  /** Events that did not arrive. */
  readonly lost: number;
  /** Lists of Services and EndpointSlices meanwhile. */
  readonly lists: number;
  /** How much later the latest event was here, in milliseconds. */
  readonly mostMs: number;
}

/** A process with simulated nodes. */
export interface Simulation {
  /** Starts them all at once. */
  boot(relays: number, target: string, snapshot?: Snapshot): Promise<void>;
  state(): Promise<readonly FollowedNode[]>;
  /** Notes what arrives from now on. */
  note(): Promise<void>;
  /** Compares what has been noted. */
  lateness(): Promise<readonly Lateness[]>;
  log(): string;
  stop(): Promise<void>;
}

/** Longer than nodes that give up their relay need. */
export const BOOT_MS = 240_000;
const PROGRAM = join(import.meta.dirname, 'simulated-nodes.ts');

/** @param watcher whether there is one node more, the first, that reads from the API server itself */
export function startSimulation(
  { plane }: Bench,
  site: Site,
  count: number,
  watcher = false,
): Simulation {
  const logFile = join(plane.folder, `simulated-nodes-${Date.now()}.log`);
  const args = ['--max-old-space-size=8000', PROGRAM];
  const ask = startAsking({ name: 'simulated nodes', command: process.execPath, args, logFile });
  const of = async <T>(op: string) => (await ask.call({ op })) as T;
  return {
    boot: async (relays, target, snapshot = {}) => {
      const nodes = Array.from({ length: count }, (_, n) => ({
        name: nodeName(n),
        token: site.tokens[n] ?? '',
        relays: relaysOf(site, nodeName(n), relays),
      }));
      const direct = { name: 'direct', token: plane.tokens.kubeProxy, relays: [] };
      const simulated: SimulatedSite = {
        server: site.link.nodes.url,
        caFile: plane.caFile,
        relayCaFile: site.caFile,
        servername: site.servername,
        snapshot,
        target,
        selectors: [`${SITE_KEY}=site-0`, `${ZONE_KEY}=zone-0`],
        nodes: watcher ? [direct, ...nodes] : nodes,
      };
      await ask.call({ op: 'boot', site: simulated });
    },
    state: async () => await of('state'),
    note: async () => await of('note'),
    lateness: async () => await of('lateness'),
    log: ask.log,
    stop: ask.stop,
  };
}

/** Reports the last warnings of nodes as progress, such as why they left a relay. */
export async function untilNewest(
  bench: Bench,
  simulation: Simulation,
): Promise<readonly FollowedNode[]> {
  const end = performance.now() + BOOT_MS;
  for (;;) {
    const nodes = await simulation.state();
    const late = nodes.filter(({ newestMs }) => newestMs === undefined);
    const warnings = simulation
      .log()
      .split('\n')
      .filter((line) => line.includes('used instead'));
    if (late.length === 0 || performance.now() > end) {
      for (const line of warnings.slice(-20)) bench.progress(line.slice(0, 500));
    }
    if (late.length === 0) return nodes;
    if (performance.now() > end)
      throw new Error(`${late.length} simulated nodes are not up to date`);
    await sleep(200);
  }
}

/** In the order that a node would give them. */
function relaysOf(site: Site, node: string, count: number): string[] {
  const all = Array.from({ length: count }, (_, n) => n);
  const order = (n: number): string => relayOrder(node, site.relayHost(n));
  return all.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)).map(site.relayUrl);
}
