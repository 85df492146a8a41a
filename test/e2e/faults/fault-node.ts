import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import type { Generation } from '../../support/recorder/read-records.ts';
import { createNode } from '../support/cluster-objects.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { createNodeNetns, type NodeNetns } from '../support/node-netns.ts';
import type { RelayFault } from '../support/relay-fault.ts';
import { makeServingCert, type ServingCert } from '../support/serving-cert.ts';
import { startWrapper, type Wrapper } from '../support/wrapper.ts';
import { type StateDisk, startStateDisk } from './state-disk.ts';

/**
 * Which connections a fault of the network is for: to the wrapper, or from it to the API server; the latter at
 * both addresses at which it knows it, or at the one that is in use.
 */
export type Side = 'clients' | 'upstream' | 'inUse';

/** Where clients connect to, by http and by https, and where the wrapper does. */
const CLIENTS = ['127.0.0.1:10370', '127.0.0.1:10371'] as const;
const UPSTREAM = ['127.0.0.1:16443', '127.0.0.1:16444'] as const;
/** The wrapper's https. */
const HTTPS = '127.0.0.1:10362';
/** How long a process waits for the next one at SIGTERM. */
const HANDOVER_SECONDS = 60;

/** A node whose connections all pass through relays. */
export interface FaultNode {
  readonly netns: NodeNetns;
  /** URL of the wrapper for clients. */
  readonly url: string;
  /** The same by https. */
  readonly https: { readonly url: string; readonly caFile: string };
  /** Where the last known state is kept. */
  readonly disk: StateDisk;
  /** A certificate that nobody trusts, for the address of the API server. */
  readonly stranger: ServingCert;
  wrapper(): Wrapper;
  /** When which process of the wrapper served. */
  readonly generations: readonly Generation[];
  stopWrapper(signal: NodeJS.Signals): Promise<void>;
  startWrapper(): Promise<void>;
  /** Starts the next process and sends SIGTERM to the last one at the same time. Resolves when the last one has ended. */
  replaceWrapper(): Promise<void>;
  /** Resets all connections; resolves with how many. */
  cut(side: Side): Promise<number>;
  /** Harms what passes; null heals. */
  inject(side: Side, fault: RelayFault | null): Promise<void>;
  /** How many connections the last fault of this side harmed. */
  harmed(side: Side): Promise<number>;
  /** Packets to and from the relay vanish. */
  dropPackets(side: Side): Promise<void>;
  /** Resolves with the number of packets that were dropped. */
  passPackets(): Promise<number>;
  stop(): Promise<void>;
}

export interface FaultNodeOptions {
  readonly plane: ControlPlane;
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly settings: Readonly<Record<string, unknown>>;
}

export async function startFaultNode(options: FaultNodeOptions): Promise<FaultNode> {
  const { plane, nodeName, labels } = options;
  const netns = await createNodeNetns();
  const cleanups = [async () => await netns.stop()];
  try {
    const disk = await startStateDisk(netns.folder);
    cleanups.unshift(async () => await disk.stop());
    const cert = await makeServingCert(netns.folder, 'wrapper', ['127.0.0.1']);
    const stranger = await makeServingCert(netns.folder, 'stranger', ['127.0.0.1']);
    const node = describeNode({ netns, disk, cert, stranger }, options);
    cleanups.unshift(async () => await node.stop());
    await createNode(plane.admin, nodeName, labels, netns.address);
    const apiServer = new URL(plane.serverAt(netns.hostAddress)).host;
    for (const endpoint of UPSTREAM) await netns.relay(endpoint, apiServer, { hold: false });
    await node.startWrapper();
    await netns.relay(CLIENTS[0], new URL(node.wrapper().url).host);
    await netns.relay(CLIENTS[1], HTTPS);
    return node;
  } catch (error) {
    for (const cleanup of cleanups) await cleanup();
    throw error;
  }
}

interface NodeParts {
  readonly netns: NodeNetns;
  readonly disk: StateDisk;
  /** Of the wrapper's https. */
  readonly cert: ServingCert;
  readonly stranger: ServingCert;
}

function describeNode(parts: NodeParts, options: FaultNodeOptions): FaultNode {
  const { netns, disk, cert, stranger } = parts;
  const { plane, nodeName } = options;
  const configFile = join(netns.folder, 'settings.yaml');
  const settings = {
    stateDir: disk.folder,
    handoverSeconds: HANDOVER_SECONDS,
    servers: [`https://${UPSTREAM[1]}`],
    https: { listen: HTTPS, ...cert },
  };
  writeFileSync(configFile, dump({ ...settings, ...options.settings }));
  const kubeconfig = plane.kubeconfig('wrapper', { server: `https://${UPSTREAM[0]}` });
  const generations: (Generation & { end: number | undefined })[] = [];
  let wrapper: Wrapper | undefined;
  const current = () => {
    if (wrapper === undefined) throw new Error('the wrapper was never started');
    return wrapper;
  };
  const spawn = async () => {
    const log = `process ${generations.length + 1}`;
    generations.push({ log, start: Date.now(), end: undefined });
    const { runBy } = disk;
    wrapper = await startWrapper({ netns, nodeName, kubeconfig, configFile, runBy, wait: false });
  };
  const replaced: Wrapper[] = [];
  const relays = relaysOf(netns);
  return {
    netns,
    disk,
    stranger,
    generations,
    url: `http://${CLIENTS[0]}`,
    https: { url: `https://${CLIENTS[1]}`, caFile: cert.certFile },
    wrapper: current,
    stopWrapper: async (signal) => {
      // A second signal does not wait for a next process.
      current().child.kill(signal);
      await current().stop(signal === 'SIGTERM' ? 'SIGINT' : signal);
      const last = generations.at(-1);
      if (last !== undefined) last.end = Date.now();
    },
    startWrapper: spawn,
    replaceWrapper: async () => {
      const last = current();
      const generation = generations.at(-1);
      replaced.push(last);
      await spawn();
      await last.stop('SIGTERM', 2 * HANDOVER_SECONDS * 1000);
      if (generation !== undefined) generation.end = Date.now();
    },
    ...relays,
    stop: async () => {
      for (const each of [...replaced, wrapper]) await each?.stop('SIGKILL');
      await disk.stop();
      await netns.stop();
    },
  };
}

/** What harms connections. */
function relaysOf(
  netns: NodeNetns,
): Pick<FaultNode, 'cut' | 'inject' | 'harmed' | 'dropPackets' | 'passPackets'> {
  let inUse: string = UPSTREAM[0];
  const endpointsOf = (side: Side): readonly string[] =>
    ({ clients: CLIENTS, upstream: UPSTREAM, inUse: [inUse] })[side];
  const ask = async (side: Side, op: 'cut' | 'harmed'): Promise<number> => {
    const counts = endpointsOf(side).map(async (endpoint) => await netns.ask({ op, endpoint }));
    return (await Promise.all(counts)).reduce<number>((sum, each) => sum + Number(each), 0);
  };
  const find = async (side: Side): Promise<void> => {
    if (side === 'inUse') inUse = (await serverInUse(netns)) ?? inUse;
  };
  return {
    cut: async (side) => await ask(side, 'cut'),
    inject: async (side, fault) => {
      if (fault !== null) await find(side);
      for (const endpoint of endpointsOf(side)) await netns.ask({ op: 'fault', endpoint, fault });
    },
    harmed: async (side) => await ask(side, 'harmed'),
    dropPackets: async (side) => {
      await find(side);
      await dropPackets(netns, endpointsOf(side));
    },
    passPackets: async () => {
      const rules = await netns.exec('nft', ['list', 'table', 'inet', TABLE]);
      await netns.exec('nft', ['delete', 'table', 'inet', TABLE]);
      const counts = Array.from(rules.matchAll(/counter packets (\d+)/g), ([, count]) => count);
      return counts.reduce((sum, count) => sum + Number(count), 0);
    },
  };
}

/** Which address of the API server the wrapper uses, by its metrics; undefined: it does not say. */
async function serverInUse(netns: NodeNetns): Promise<string | undefined> {
  const metrics = await netns.httpGet('http://127.0.0.1:10361/metrics');
  return /upstream_server_in_use\{server="([^"]+)"\} 1$/m.exec(metrics?.body ?? '')?.[1];
}

const TABLE = 'kpw_faults';

/** Not by tc: the loopback of a namespace has no queue to drop from. */
async function dropPackets(netns: NodeNetns, endpoints: readonly string[]): Promise<void> {
  const ports = endpoints.map((endpoint) => endpoint.split(':')[1]).join(', ');
  const rules = `table inet ${TABLE} {
  chain input {
    type filter hook input priority -300;
    tcp dport { ${ports} } counter drop
    tcp sport { ${ports} } counter drop
  }
}
`;
  await netns.exec('nft', ['-f', '-'], rules);
}
