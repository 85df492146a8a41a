import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeProxyMode } from '../../harness/node/kube-proxy.ts';
import type { MeasuringClient, Target } from '../client.ts';
import type { MeasuredNode } from './node.ts';
import type { GainOptions } from './options.ts';
import {
  countersBetween,
  lastSyncAt,
  readSyncCounters,
  type SyncCounters,
} from './sync-counters.ts';
import { sizeOfIptables, sizeOfNftables, type TableSize } from './table-size.ts';

/** What a kube-proxy did that asked the API server, or the wrapper. */
export interface GainCase {
  readonly mode: KubeProxyMode;
  readonly target: Target;
  /** From the start of the process to the end of the first round with all Services, in seconds. */
  readonly firstSyncSeconds: number;
  readonly window: WindowUse;
  /** Resident when all is quiet again, in MB (10⁶ bytes). */
  readonly memory: { readonly kubeProxy: number; readonly wrapper?: number };
  readonly table: TableSize;
}

/** What happened while slices changed that the node doesn't see. */
export interface WindowUse {
  /** How long it really was. */
  readonly seconds: number;
  /** Changes of slices in the cluster. */
  readonly changes: number;
  readonly counters: SyncCounters;
  /** CPU time, with that of the programs that kube-proxy ran, in seconds. */
  readonly cpu: { readonly kubeProxy: number; readonly wrapper?: number };
}

/** Of 10,000 Services on a busy machine, the first round takes a minute or two. */
const FIRST_SYNC_LIMIT_MS = 300_000;

/** A kube-proxy that uses less than this share of a core is idle. */
const IDLE_SHARE = 0.05;
const QUIET_LIMIT_MS = 60_000;

/** Waits for the first sync, counts over the window, and reads the tables when all is quiet. */
export async function measureCase(
  node: MeasuredNode,
  client: MeasuringClient,
  options: GainOptions,
  which: Pick<GainCase, 'mode' | 'target'>,
): Promise<GainCase> {
  const firstSyncSeconds = await firstSync(node);
  // Both kube-proxies get the same changes, and the same load from what counts them.
  await client.follow('direct');
  const churn = async (seconds: number) =>
    (await client.churn(seconds * options.rate, Math.round(1000 / options.rate))).events;
  if (options.warmUpSeconds > 0) await churn(options.warmUpSeconds);
  const window = await measureWindow(node, async () => await churn(options.windowSeconds));
  await client.unfollow();
  await untilQuiet(node, options.quietMs);
  const memory = {
    kubeProxy: node.kubeProxy.memory().now,
    ...(node.wrapper === undefined ? {} : { wrapper: node.wrapper.memory().now }),
  };
  const table = await readTableSize(node, which.mode);
  checkServices(table, options.cluster.services);
  return { ...which, firstSyncSeconds, window, memory, table };
}

async function firstSync(node: MeasuredNode): Promise<number> {
  const deadline = performance.now() + FIRST_SYNC_LIMIT_MS;
  for (;;) {
    const at = lastSyncAt((await node.metrics()) ?? '');
    // kube-proxy's own stamp, so how often we look makes no difference: rounds are a second apart.
    if (at !== undefined) return (at - node.startedAt) / 1000;
    const ending = node.kubeProxy.ending();
    if (ending !== undefined || performance.now() > deadline) {
      const why = ending === undefined ? 'did not sync' : `ended (${ending})`;
      throw new Error(`kube-proxy ${why}; its log ends:\n${node.kubeProxy.log().slice(-4000)}`);
    }
    await sleep(250);
  }
}

async function measureWindow(node: MeasuredNode, churn: () => Promise<number>): Promise<WindowUse> {
  const [start, before, cpu] = [performance.now(), await counters(node), cpuOf(node)];
  const changes = await churn();
  const [end, after, now] = [performance.now(), await counters(node), cpuOf(node)];
  return {
    seconds: (end - start) / 1000,
    changes,
    counters: countersBetween(before, after),
    cpu: {
      kubeProxy: now.kubeProxy - cpu.kubeProxy,
      ...(node.wrapper === undefined ? {} : { wrapper: now.wrapper - cpu.wrapper }),
    },
  };
}

function cpuOf(node: MeasuredNode): { readonly kubeProxy: number; readonly wrapper: number } {
  return { kubeProxy: node.kubeProxy.cpu(), wrapper: node.wrapper?.cpu() ?? 0 };
}

/** Repeats a request without an answer in time, which happens while kube-proxy uses all cores. */
async function counters(node: MeasuredNode): Promise<SyncCounters> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const metrics = await node.metrics();
    if (metrics !== undefined) return readSyncCounters(metrics);
  }
  throw new Error(`no metrics of kube-proxy: ${node.kubeProxy.ending() ?? 'it does not answer'}`);
}

async function untilQuiet(node: MeasuredNode, quietMs: number): Promise<void> {
  const deadline = performance.now() + QUIET_LIMIT_MS;
  while (performance.now() < deadline) {
    const before = node.kubeProxy.cpu();
    await sleep(quietMs);
    if ((node.kubeProxy.cpu() - before) * 1000 < IDLE_SHARE * quietMs) return;
  }
}

async function readTableSize(node: MeasuredNode, mode: KubeProxyMode): Promise<TableSize> {
  if (mode === 'iptables') return sizeOfIptables(await node.netns.exec(node.iptablesSave, []));
  return sizeOfNftables(await node.netns.exec('nft', ['-j', 'list', 'ruleset']));
}

/** So that no half-written table is measured. The API server's own Service is there, too. */
function checkServices(table: TableSize, services: number): void {
  if (table.services === services + 1) return;
  throw new Error(`the kernel has ${table.services} Services and should have ${services + 1}`);
}
