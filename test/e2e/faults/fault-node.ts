import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import type { Generation } from '../../support/recorder/read-records.ts';
import { createNode } from '../support/cluster-objects.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { createNodeNetns, type NodeNetns } from '../support/node-netns.ts';
import type { RelayFault } from '../support/relay-fault.ts';
import { startWrapper, type Wrapper } from '../support/wrapper.ts';

/** Which connections a fault of the network is for: to the wrapper, or from it to the API server. */
export type Side = 'clients' | 'upstream';

/** Where clients connect to, and where the wrapper does. */
const RELAYS: Readonly<Record<Side, string>> = {
  clients: '127.0.0.1:10370',
  upstream: '127.0.0.1:16443',
};

/** A node whose connections all pass through relays. */
export interface FaultNode {
  readonly netns: NodeNetns;
  /** URL of the wrapper for clients. */
  readonly url: string;
  /** Folder with the last known state. */
  readonly stateDir: string;
  wrapper(): Wrapper;
  /** When which process of the wrapper served. */
  readonly generations: readonly Generation[];
  stopWrapper(signal: NodeJS.Signals): Promise<void>;
  startWrapper(): Promise<void>;
  /** Resets all connections; resolves with how many. */
  cut(side: Side): Promise<number>;
  /** Harms what passes; null heals. */
  inject(side: Side, fault: RelayFault | null): Promise<void>;
  /** How many connections the last fault of this side harmed. */
  harmed(side: Side): Promise<number>;
  /** Packets to and from the relay vanish. */
  dropPackets(side: Side): Promise<void>;
  passPackets(): Promise<void>;
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
  const node = describeNode(netns, options);
  try {
    await createNode(plane.admin, nodeName, labels, netns.address);
    const apiServer = new URL(plane.serverAt(netns.hostAddress)).host;
    await netns.relay(RELAYS.upstream, apiServer, { hold: false });
    await node.startWrapper();
    await netns.relay(RELAYS.clients, new URL(node.wrapper().url).host);
    return node;
  } catch (error) {
    await node.stop();
    throw error;
  }
}

function describeNode(netns: NodeNetns, options: FaultNodeOptions): FaultNode {
  const { plane, nodeName } = options;
  const stateDir = join(netns.folder, 'state');
  const configFile = join(netns.folder, 'settings.yaml');
  writeFileSync(configFile, dump({ ...options.settings, stateDir }));
  const kubeconfig = plane.kubeconfig('wrapper', { server: `https://${RELAYS.upstream}` });
  const generations: (Generation & { end: number | undefined })[] = [];
  let wrapper: Wrapper | undefined;
  const current = () => {
    if (wrapper === undefined) throw new Error('the wrapper was never started');
    return wrapper;
  };
  return {
    netns,
    stateDir,
    generations,
    url: `http://${RELAYS.clients}`,
    wrapper: current,
    stopWrapper: async (signal) => {
      await current().stop(signal);
      const last = generations.at(-1);
      if (last !== undefined) last.end = Date.now();
    },
    startWrapper: async () => {
      const log = `process ${generations.length + 1}`;
      generations.push({ log, start: Date.now(), end: undefined });
      wrapper = await startWrapper({ netns, nodeName, kubeconfig, configFile, wait: false });
    },
    cut: async (side) => await netns.cutRelay(RELAYS[side]),
    inject: async (side, fault) =>
      void (await netns.ask({ op: 'fault', endpoint: RELAYS[side], fault })),
    harmed: async (side) => (await netns.ask({ op: 'harmed', endpoint: RELAYS[side] })) as number,
    dropPackets: async (side) => await dropPackets(netns, Number(RELAYS[side].split(':')[1])),
    passPackets: async () => void (await netns.exec('nft', ['delete', 'table', 'inet', TABLE])),
    stop: async () => {
      await wrapper?.stop('SIGKILL');
      await netns.stop();
    },
  };
}

const TABLE = 'kpw_faults';

/** Not by tc: the loopback of a namespace has no queue to drop from. */
async function dropPackets(netns: NodeNetns, port: number): Promise<void> {
  const rules = `table inet ${TABLE} {
  chain input {
    type filter hook input priority -300;
    tcp dport ${port} drop
    tcp sport ${port} drop
  }
}
`;
  await netns.exec('nft', ['-f', '-'], rules);
}
