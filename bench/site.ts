import { setTimeout as sleep } from 'node:timers/promises';
import { makeServingCert } from '../harness/api-server/serving-cert.ts';
import { startUrlFront, type UrlFront } from '../harness/network/tcp-front.ts';
import type { Bench } from './bench.ts';
import { type Summary, summarize } from './measure.ts';
import type { MeasuredWrapper, WrapperStart } from './wrapper.ts';

/** The nodes of one site, each with the watches of a kube-proxy, that read from the API server through one relay. */
export interface Site {
  /** Counts what the site receives. */
  readonly link: UrlFront;
  readonly relay: MeasuredWrapper;
  /** The node that is our own. */
  readonly own: MeasuredWrapper;
  /** What it has received until all nodes were synced, in MB (10⁶ bytes). */
  readonly startMB: number;
  /** Stops all nodes but our own. */
  stopOthers(): Promise<void>;
  stop(): Promise<void>;
}

const SLICES =
  '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=!service.kubernetes.io/headless';
/** Longer than fifty nodes need that start together on two cores. */
const SYNCED_MS = 900_000;
/**
 * How many nodes start at once. All fifty on two cores, with their relay, would leave it: it gets no CPU to answer a
 * handshake within 5 s.
 */
const AT_ONCE = 10;
/** How long node sets open after the views, in milliseconds. */
const NODE_SETS_MS = 2_000;

/** Starts a relay, and when it is ready so many nodes of our own site. */
export async function startSite(bench: Bench, count: number): Promise<Site> {
  const { client, plane } = bench;
  const link = await startUrlFront(plane.server);
  const running = new Set<MeasuredWrapper>();
  const start = async (how: Partial<WrapperStart>): Promise<MeasuredWrapper> => {
    const process = await bench.start({ server: link.url, ...how });
    running.add(process);
    return process;
  };
  const stop = async (processes: readonly MeasuredWrapper[]): Promise<void> => {
    for (const process of processes) running.delete(process);
    await Promise.all(processes.map(async (process) => await process.stop()));
  };
  const stopAll = async (): Promise<void> => {
    await stop([...running]);
    await link.close();
  };
  try {
    const relayCert = await makeServingCert(plane.folder, 'relay', ['127.0.0.1']);
    const relay = await start({ relayCert });
    await relay.ready();
    const relays = { servers: [relay.url], caFile: relayCert.certFile };
    const startNode = async (n: number): Promise<MeasuredWrapper> => {
      const node = await start({ nodeName: nodeName(n), relays });
      await synced(node);
      return node;
    };
    const nodes: MeasuredWrapper[] = [];
    while (nodes.length < count) {
      const left = Math.min(AT_ONCE, count - nodes.length);
      const from = nodes.length;
      nodes.push(
        ...(await Promise.all(Array.from({ length: left }, (_, n) => startNode(from + n)))),
      );
    }
    const [own, ...others] = nodes;
    if (own === undefined) throw new Error('a site has nodes');
    for (const [n, { url }] of nodes.entries()) {
      await client.useWrapper(url, nodeName(n));
      await client.hold('wrapper');
    }
    await sleep(NODE_SETS_MS);
    const startMB = link.received / 1e6;
    return { link, relay, own, startMB, stopOthers: async () => await stop(others), stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/**
 * How much later a watch event reaches the client of a wrapper when that reads from a relay, in milliseconds: for each
 * round the difference of the medians. All other nodes of the site must have stopped, for they would share the cores.
 */
export async function timeRelay(
  { client, options }: Bench,
  alone: MeasuredWrapper,
  { own }: Site,
): Promise<Summary> {
  const added: number[] = [];
  for (let round = 0; round <= options.rounds; round++) {
    const median = async ({ url }: MeasuredWrapper): Promise<number> => {
      await client.useWrapper(url);
      return summarize((await client.latency(1, 20, 10)).added).p50;
    };
    const [direct, relay] = [await median(alone), await median(own)];
    // The first round warms up.
    if (round > 0) added.push(relay - direct);
  }
  return summarize(added);
}

/** As the client names the nodes of the first site. */
function nodeName(n: number): string {
  return `node-0-${n}`;
}

/** Asks for slices as a kube-proxy that has started too, until they are served. */
async function synced({ url }: MeasuredWrapper): Promise<void> {
  const headers = { accept: 'application/vnd.kubernetes.protobuf' };
  const isServed = async (): Promise<boolean> => {
    const response = await fetch(`${url}${SLICES}`, { headers }).catch(() => undefined);
    await response?.arrayBuffer();
    return response?.status === 200;
  };
  const end = performance.now() + SYNCED_MS;
  while (!(await isServed())) {
    if (performance.now() > end) throw new Error(`${url} serves no slices`);
    await sleep(200);
  }
}
