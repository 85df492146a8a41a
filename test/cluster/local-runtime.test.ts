import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createCriClient } from '../../src/proxy/local-runtime/cri-client.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { createTimings } from '../e2e/support/timings.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { installKubeProxy, rolledOut } from './support/kube-proxy.ts';
import type { ClusterNode } from './support/node.ts';
import {
  changeSecondNetwork,
  createOtherServices,
  EVERYWHERE,
  SECOND_NETWORK,
} from './support/other-services.ts';
import { writeOverlay } from './support/overlay.ts';
import { createWeb, type Web } from './support/web.ts';
import { createWorkspace, type Workspace } from './support/workspace.ts';

jest.setTimeout(240_000);

/**
 * An offline reboot: a node is cut off, all its containers are killed as by a power cut, and the kubelet starts them
 * again. The Pod comes back with another address, and the wrapper and kube-proxy start without an API server.
 *
 * Connections are made from the node and from a Pod, and the kernel's tables are read. Both modes, and the crash loop, in
 * which the kubelet waits for most of a minute, are for releases.
 */
const isRelease = process.env.KPW_CLUSTER === 'all';
const MODES = isRelease ? (['nftables', 'iptables'] as const) : (['nftables'] as const);
const inRelease = isRelease ? test : test.skip;

/** How long traffic is watched that must not arrive, in milliseconds. */
const WATCHED_MS = 15_000;

describe.each(MODES)('an offline reboot (%s)', (mode) => {
  let cluster: Cluster;
  let node: ClusterNode;
  let workspace: Workspace;
  let web: Web;
  let pod: string;
  const timings = createTimings();

  beforeAll(async () => {
    cluster = await startCluster({ nodeNames: ['edge-1', 'edge-2'] });
    node = cluster.node('edge-1');
    workspace = createWorkspace(cluster);
    await install(['state']);
    await installKubeProxy(cluster, { mode, server: 'http://127.0.0.1:10360' });
    await rolledOut(cluster, 'kube-proxy');
    web = await createWeb(cluster, ['kubernetes.io/hostname', '*']);
    pod = await web.podOn('edge-1');
    await web.reaches('edge-1', ['edge-1']);
    await createOtherServices(cluster, 'edge-1', pod);
    await reaches('set up', ['edge-1', 'edge-2'], EVERYWHERE);
    await programs([SECOND_NETWORK.unchanged, SECOND_NETWORK.before]);
  });

  afterAll(async () => {
    timings.print('an offline reboot (ms)');
    await cluster?.stop();
  });

  /**
   * Waits until every Pod of the wrapper has been ready for its minReadySeconds. If an update begins before, the
   * controller of the DaemonSet may look too early, and not again: with maxSurge it counts the old Pods only
   * (docs/operations-node.md).
   */
  async function isAvailable(): Promise<void> {
    await eventually(
      async () =>
        (
          await cluster.admin.get(
            '/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy-wrapper',
          )
        ).status.numberAvailable,
      (available) => available === cluster.nodes.length,
      { timeoutMs: 60_000, intervalMs: 500, what: 'all Pods of the wrapper are available' },
    );
  }

  async function install(components: readonly string[]): Promise<void> {
    writeOverlay(workspace, components);
    await workspace.run('kubectl apply --server-side --force-conflicts -k my-cluster');
    await rolledOut(cluster, 'kube-proxy-wrapper');
  }

  /** The address that the Pod has now, from the container runtime; undefined: it does not run. */
  async function address(): Promise<string | undefined> {
    const runtime = createCriClient(node.hostPath(node.criSocket));
    try {
      const all = await runtime.sandboxes();
      const ready = all.find((each) => each.name === pod && each.ready);
      return ready && (await runtime.network(ready.id))?.addresses[0];
    } finally {
      runtime.close();
    }
  }

  /** Kills all containers, and waits until the Pod, the wrapper and kube-proxy run again. Returns both addresses. */
  async function powerCut(
    what: string,
  ): Promise<{ readonly before: string; readonly after: string }> {
    const before = (await address()) ?? '';
    const start = performance.now();
    const since = () => Math.round(performance.now() - start);
    await node.powerCut();
    const { value: after = '' } = await eventually(
      address,
      (now) => now !== undefined && now !== '' && now !== before,
      { timeoutMs: 60_000, intervalMs: 200, what: `${pod} has another address than ${before}` },
    );
    timings.add(`${what}: from the power cut until the Pod is back`, mode, since());
    await eventually(
      async () => (await node.containers()).map(({ name }) => name).sort(),
      (names) => names.join() === 'kube-proxy,kube-proxy-wrapper,web',
      { timeoutMs: 90_000, intervalMs: 500, what: 'all containers of the node run again' },
    );
    timings.add(`${what}: from the power cut until all containers run`, mode, since());
    return { before, after };
  }

  /** Who answers connections from the node, which does not depend on any Pod. */
  async function dial(url = web.url): Promise<string[]> {
    const { podProgram } = cluster.binaries;
    const answers = JSON.parse(await node.exec(podProgram, ['dial', url, '16']));
    return [...new Set(Object.keys(answers).map((answer) => answer.split('/')[0] ?? ''))].sort();
  }

  /** Whether an address is in the tables of the kernel. */
  async function isProgrammed(ip: string): Promise<boolean> {
    const tables =
      mode === 'nftables'
        ? await node.exec('nft', ['list', 'ruleset'])
        : await node.exec('iptables-save', ['-t', 'nat']);
    return new RegExp(`\\b${ip.replaceAll('.', '\\.')}\\b`).test(tables);
  }

  /** Waits until these addresses, if any, are those of the second network in the tables of the kernel. */
  async function programs(addresses: readonly string[]): Promise<void> {
    await eventually(secondNetwork, (found) => found.join() === addresses.join(), {
      timeoutMs: 60_000,
      intervalMs: 200,
      what: `the kernel has [${addresses.join()}]`,
    });
  }

  async function secondNetwork(): Promise<string[]> {
    const known = Object.values(SECOND_NETWORK);
    const found = await Promise.all(known.map(async (each) => await isProgrammed(each)));
    return known.filter((_, index) => found[index]);
  }

  async function reaches(what: string, nodes: readonly string[], url = web.url): Promise<void> {
    const { elapsedMs } = await eventually(
      async () => await dial(url),
      (found) => found.join() === nodes.join(),
      { timeoutMs: 60_000, intervalMs: 200, what: `${what}: ${nodes.join()} answers` },
    );
    timings.add(what, mode, elapsedMs);
  }

  test('without localRuntime, connections go to the address that the Pod had', async () => {
    await node.cutOff();
    const { before, after } = await powerCut('without');
    const end = performance.now() + WATCHED_MS;
    while (performance.now() < end) expect(await dial()).not.toContain('edge-1');
    expect(await isProgrammed(before)).toBe(true);
    expect(await isProgrammed(after)).toBe(false);
    await programs([SECOND_NETWORK.unchanged, SECOND_NETWORK.before]);
    await node.reconnect();
    await reaches('without: the link has returned', ['edge-1']);
  });

  test('with localRuntime, they reach the address that it has now', async () => {
    await isAvailable();
    // With `scrape` the probes, and what is read below, are at the node's address.
    await install(['state', 'local-runtime', 'scrape']);
    await web.reaches('edge-1', ['edge-1']);
    await node.cutOff();
    const { before, after } = await powerCut('with');
    await reaches('with: all containers run again', ['edge-1']);
    expect(await isProgrammed(after)).toBe(true);
    expect(await isProgrammed(before)).toBe(false);
    await web.reaches('edge-1', ['edge-1']);
    const again = await powerCut('with, again');
    await reaches('with: a second power cut', ['edge-1']);
    expect(await isProgrammed(again.before)).toBe(false);
    await programs([]);
  });

  test('endpoints of other nodes are left alone meanwhile', async () => {
    await reaches('with: every node', ['edge-1', 'edge-2'], EVERYWHERE);
  });

  inRelease(
    'a Pod that crashes again and again is left for another node, and comes back',
    async () => {
      const isWeb = async () => (await node.containers()).find((each) => each.pod === pod);
      const crash = async () => {
        const found = await isWeb();
        if (found === undefined) return;
        await node.exec('ctr', ['-n', 'k8s.io', 'tasks', 'kill', '-s', 'SIGKILL', found.id]);
      };
      const { elapsedMs } = await eventually(
        async () => {
          await crash();
          return await dial();
        },
        (found) => found.join() === 'edge-2',
        { timeoutMs: 60_000, intervalMs: 200, what: 'the other node answers' },
      );
      timings.add('with: a crash loop', mode, elapsedMs);
      await reaches('with: the crash loop has ended', ['edge-1']);
    },
  );

  test('when the link returns, what the API server sends is shown immediately', async () => {
    await node.reconnect();
    await changeSecondNetwork(cluster);
    // The other address was not sent again, so it is still corrected.
    await programs([SECOND_NETWORK.after]);
  });

  test('half a minute later, everything is shown as the API server has it', async () => {
    const current = await address();
    await eventually(
      async () => (await cluster.admin.get(`/api/v1/namespaces/default/pods/${pod}`)).status.podIP,
      (ip) => ip === current,
      { timeoutMs: 60_000, intervalMs: 500, what: 'the kubelet has reported the new address' },
    );
    const url = `http://${node.address}:10361/readyz`;
    const readyz = async () => await node.exec(cluster.binaries.podProgram, ['dial', url, '1']);
    await eventually(readyz, (said) => said.includes('local-runtime ok\\n'), {
      timeoutMs: 60_000,
      intervalMs: 500,
      what: 'nothing is corrected any more',
    });
    await reaches('with: the link has returned', ['edge-1']);
    await programs([SECOND_NETWORK.unchanged, SECOND_NETWORK.after]);
  });
});
