import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../embedded/api-server.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/proxy/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { FOREIGN_ANSWERS, type ForeignAnswer } from '../../support/http/foreign-answers.ts';
import { type Portal, startPortal } from '../../support/http/portal.ts';
import { listAddresses, SLICES_PATH } from '../../support/policy/policy-cluster.ts';
import { createSmallCluster, putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { allShownBy, problemsOf, stateFolder } from '../../support/wrapper/state-fixture.ts';
import { startWrapper } from '../../support/wrapper/wrapper-fixture.ts';

let server: ApiServer;
let url: string;
let portal: Portal | undefined;
let state: NonNullable<NodeProxyOptions['state']>;
let remove: () => Promise<void>;
const running: NodeProxy[] = [];

beforeEach(async () => {
  ({ state, remove } = await stateFolder());
  server = createSmallCluster({ tls: undefined });
  putService(server, 'web', ['site']);
  showEndpoint(1);
  url = await server.listen();
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((proxy) => proxy.close()));
  await closePortal();
  await server.close();
  await remove();
});

/** `10.0.0.<n>` is what the node must use. */
function showEndpoint(n: number): void {
  putSlice(server, 'web-a', 'web', [
    { ip: `10.0.0.${n}`, node: 'edge-1' },
    { ip: '10.0.0.9', node: 'edge-3' },
  ]);
}

async function start(options: Partial<NodeProxyOptions> = {}): Promise<NodeProxy> {
  const proxy = await startWrapper(url, { state, readyWaitMs: 20_000, ...options });
  running.push(proxy);
  return proxy;
}

/** A first process that has seen everything, and has ended. */
async function leaveState() {
  const proxy = await start();
  const shown = await allShownBy(proxy);
  await running.pop()?.close();
  return shown;
}

async function openPortal(answer: ForeignAnswer): Promise<void> {
  portal = await startPortal(Number(new URL(url).port), answer);
}

async function closePortal(): Promise<void> {
  await portal?.close();
  portal = undefined;
}

const listen = async (): Promise<void> => void (await server.listen(Number(new URL(url).port)));
const shown = (proxy: NodeProxy) => listAddresses(proxy.url + SLICES_PATH);

describe.each(Object.entries(FOREIGN_ANSWERS))('a start behind %s', (_, answer) => {
  test('shows what is on disk, reports it, and is right again when the API server answers', async () => {
    const before = await leaveState();
    await server.close();
    await openPortal(answer);
    const proxy = await start();
    expect(await allShownBy(proxy)).toEqual(before);
    expect(problemsOf(proxy).join()).toMatch(/from the snapshot/);
    expect(proxy.upstream.serverState.isCutOff).toBe(true);
    showEndpoint(2);
    await closePortal();
    await listen();
    await eventually(() => shown(proxy), [2]);
    await eventually(() => problemsOf(proxy), []);
  });

  test('uses another API server that answers', async () => {
    const second = createSmallCluster({ tls: undefined });
    putService(second, 'web', ['site']);
    putSlice(second, 'web-a', 'web', [{ ip: '10.0.0.3', node: 'edge-1' }]);
    const other = new URL(await second.listen());
    try {
      await server.close();
      await openPortal(answer);
      const proxy = await start({ servers: [other] });
      expect(await shown(proxy)).toEqual([3]);
      expect(proxy.upstream.failover.servers[0]?.port).toBe(other.port);
    } finally {
      await Promise.all(running.splice(0).map((proxy) => proxy.close()));
      await second.close();
    }
  });
});
