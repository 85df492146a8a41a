import { setTimeout as sleep } from 'node:timers/promises';
import {
  createNode,
  createService,
  createSlice,
  labelNode,
} from '../api-server/cluster-objects.ts';
import type { ControlPlane } from '../api-server/control-plane.ts';
import { createHistory, type History } from '../history/history.ts';
import { WIDE_SHAPE } from '../history/history-shape.ts';
import { persist } from '../history/persist.ts';
import { type InformerReport, startInformers } from '../informer/informer.ts';
import { dial } from '../network/dial.ts';
import type { Random } from '../random.ts';
import { createKubeProxies } from './kube-proxies.ts';
import { startWrappedNode, type WrappedNode } from './wrapped-node.ts';

export type DisruptionScene = Awaited<ReturnType<typeof startDisruptionScene>>;

const PROBE_IP = '10.96.201.1';
const PROBE_BACKENDS = { x: '10.244.50.1:8080', y: '10.244.50.2:8080' } as const;

/**
 * A wrapper with two kube-proxies behind it, each with a kernel of its own: 1.36.3 (nftables, streaming list)
 * beside the wrapper, 1.33.13 (iptables, LIST) in a second namespace; and a random history for them to follow.
 */
export async function startDisruptionScene(
  plane: ControlPlane,
  random: Random,
  settings: Readonly<Record<string, unknown>>,
) {
  const self = 'here';
  const node = await startWrappedNode({ plane, nodeName: self, labels: { probe: 'x' }, settings });
  const { netns } = node;
  const wrapper = { nodeName: self, netns, url: node.wrapper().url };
  const kubeProxies = await createKubeProxies(plane, wrapper);
  await netns.addEndpoints(Object.values(PROBE_BACKENDS));
  await createProbe(plane);
  const api = () => plane.admin;
  const history = await createHistory({ api, random, self, shape: WIDE_SHAPE });

  let probeLabel: keyof typeof PROBE_BACKENDS = 'x';
  const settle = async (timeoutMs = 60_000) => {
    const more = { [`${PROBE_IP}:80`]: [PROBE_BACKENDS[probeLabel]] };
    const times = kubeProxies.map(async (kubeProxy) => [
      kubeProxy.name,
      await kubeProxy.settle(history, more, timeoutMs),
    ]);
    return Object.fromEntries(await Promise.all(times)) as Record<string, number>;
  };
  return {
    node,
    /**
     * Restarts both kube-proxies and waits until they have written their tables. They remember nothing, nor
     * how often they were refused.
     */
    restartKubeProxies: async () => {
      await Promise.all(kubeProxies.map(async (kubeProxy) => await kubeProxy.stop()));
      await Promise.all(kubeProxies.map(async (kubeProxy) => await kubeProxy.start(true)));
    },
    /** What both kube-proxies have written since the scene began: each process appends to the file of the one before. */
    kubeProxyLogs: () => kubeProxies.map((kubeProxy) => kubeProxy.log()).join('\n'),
    /** Makes random changes. */
    play: async (steps: number) => {
      for (let step = 0; step < steps; step++) await history.step();
    },
    /** Makes random changes until it is stopped. `stop` resolves with their number. */
    startLoad: () => startLoad(history),
    /**
     * Waits until both kernels hold what the model computes for each Service. Resolves with the milliseconds
     * until each of them did.
     */
    settle: async () => await settle(),
    /** Relabels the own node so that another backend of a certain Service wins, and waits for the kernels. */
    probe: async () => {
      probeLabel = probeLabel === 'x' ? 'y' : 'x';
      await persist(async () => void (await labelNode(plane.admin, self, { probe: probeLabel })));
      return await settle(20_000);
    },
    /** Who answers at the Service that `probe` moves, and who should. */
    dialProbe: async () => ({
      counts: await dial(node.netns, `${PROBE_IP}:80`, 20),
      wanted: PROBE_BACKENDS[probeLabel],
    }),
    /** Endpoints by slice, as a client sees them that starts now. Ends it afterwards. */
    readAsNewClient: async () => await readAsNewClient(plane, node),
    /** The same as the model computes it. */
    readModel: () => {
      const rows = [...history.rows({ resource: 'endpointslices' })];
      const read = rows.filter(([key]) => !/^default[/]|[/]headless-/.test(key));
      return Object.fromEntries(read.map(([key, value]) => [key, value.join()]).sort());
    },
    stop: async () => {
      for (const kubeProxy of kubeProxies) await kubeProxy.close();
      await node.stop();
    },
  };
}

/** A Service whose backend follows the own node's label `probe`. */
async function createProbe({ admin }: ControlPlane): Promise<void> {
  await createService(admin, {
    name: 'probe',
    ports: [{ port: 80, targetPort: 8080 }],
    annotations: { topologyKeys: '["probe"]' },
    spec: { clusterIP: PROBE_IP },
  });
  for (const [label, backend] of Object.entries(PROBE_BACKENDS)) {
    await createNode(admin, `probe-${label}`, { probe: label });
    const addresses = [backend.replace(':8080', '')];
    await createSlice(admin, {
      name: `probe-${label}`,
      service: 'probe',
      endpoints: [{ addresses, nodeName: `probe-${label}`, conditions: { ready: true } }],
      ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    });
  }
}

function startLoad(history: History): { stop(): Promise<number> } {
  let stopped = false;
  const run = async () => {
    let steps = 0;
    for (; !stopped; steps++) {
      await history.step();
      await sleep(10);
    }
    return steps;
  };
  const running = run();
  // Its failure shows when it is stopped.
  running.catch(() => {});
  return {
    stop: async () => {
      stopped = true;
      return await running;
    },
  };
}

async function readAsNewClient(
  plane: ControlPlane,
  node: WrappedNode,
): Promise<Record<string, string>> {
  const informers = startInformers({
    binaries: plane.binaries,
    netns: node.netns,
    variants: [true, false].map((streaming) => ({
      name: `streaming ${streaming}`,
      server: node.wrapper().url,
      streaming,
      resource: 'endpointslices',
      contentType: 'protobuf',
      // The same query as kube-proxy's, so the view is open already.
      labelSelector: '!service.kubernetes.io/headless',
    })),
  });
  try {
    await informers.allSynced();
    const reports = [...(await informers.dump()).values()];
    const [first, second] = reports.map(rowsOfHistory);
    if (JSON.stringify(first) !== JSON.stringify(second)) {
      throw new Error(`LIST and streaming list differ: ${JSON.stringify(reports)}`);
    }
    return first ?? {};
  } finally {
    await informers.stop();
  }
}

function rowsOfHistory({ handled }: InformerReport): Record<string, string> {
  const rows = handled.filter(({ key }) => !key.startsWith('default/'));
  return Object.fromEntries(rows.map(({ key, endpoints }) => [key, endpoints.join()]).sort());
}
