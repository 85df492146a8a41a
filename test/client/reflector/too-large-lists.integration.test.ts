import { beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { DEFAULT_READ_LIMITS } from '../../../src/client/api/read-limits.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { putService } from '../../support/wrapper/small-cluster.ts';
import { checksOf, useState } from '../../support/wrapper/state-fixture.ts';
import { useCluster, useWrapper } from '../../support/wrapper/use.ts';

/** The Services of a tenant exceed it. JSON is held twice while it is read. */
const MAX_LIST_BYTES = 5_000_000;
const TENANT_SERVICES = 100;
const SIZE = 60_000;
const SERVICES =
  '/api/v1/services?labelSelector=!service.kubernetes.io/headless,!service.kubernetes.io/service-proxy-name';

let server: ApiServer;
let url: string;
const { logger, lines } = recordingLogger();

beforeEach(async () => {
  server = useCluster();
  putService(server, 'web', ['site']);
  url = await server.listen();
});

function putTenant(count: number, large: 'annotations' | 'labels'): void {
  for (let n = 0; n < count; n++) {
    const texts =
      large === 'annotations'
        ? { 'any/note': 'x'.repeat(SIZE), 'kube-proxy-wrapper.io/filter': 'off' }
        : Object.fromEntries(
            Array.from({ length: SIZE / 60 }, (_, i) => [`l${i}`, 'x'.repeat(58)]),
          );
    const metadata = { name: `s${n}`, namespace: 'tenant', [large]: texts };
    const spec = { clusterIP: `10.96.1.${n}`, ports: [{ port: 80, protocol: 'TCP' }] };
    server.create('services', { apiVersion: 'v1', kind: 'Service', metadata, spec });
  }
}

interface Service {
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> };
}

async function shownBy(proxy: NodeProxy): Promise<Map<string, Service>> {
  const response = await fetch(proxy.url + SERVICES, { headers: { accept: 'application/json' } });
  const { items } = (await response.json()) as { items?: Service[] };
  return new Map((items ?? []).map((each) => [each.metadata.name, each]));
}

const start = async (maxListBytes: number, state?: ReturnType<typeof useState>) =>
  await useWrapper(url, {
    readLimits: { ...DEFAULT_READ_LIMITS, maxListBytes },
    state,
    logger,
  });

test('a tenant whose annotations exceed maxListBytes does not stop a start: its large objects keep those of policies', async () => {
  putTenant(TENANT_SERVICES, 'annotations');
  const proxy = await start(MAX_LIST_BYTES);
  await eventually(async () => (await shownBy(proxy)).size, TENANT_SERVICES + 1);
  const shown = await shownBy(proxy);
  expect(shown.get('web')?.metadata.annotations).toEqual({ topologyKeys: '["site"]' });
  expect(shown.get('s1')?.metadata.annotations).toEqual({ 'kube-proxy-wrapper.io/filter': 'off' });
  expect(lines.some(({ msg }) => msg.includes('larger than maxListBytes'))).toBe(true);
  // It goes on with a watch, like any other list.
  server.annotate('web', 'topologyKeys', '["*"]');
  await eventually(
    async () => (await shownBy(proxy)).get('web')?.metadata.annotations?.topologyKeys,
    '["*"]',
  );
});

test('objects that stay too large are served from the snapshot, and reported', async () => {
  const state = useState();
  putTenant(TENANT_SERVICES, 'labels');
  const before = await start(DEFAULT_READ_LIMITS.maxListBytes, state);
  await eventually(async () => (await shownBy(before)).size, TENANT_SERVICES + 1);
  await before.close();
  const proxy = await start(MAX_LIST_BYTES, state);
  await eventually(async () => (await shownBy(proxy)).size, TENANT_SERVICES + 1);
  // The snapshot is shown before the list that is too large has been refused.
  await eventually(async () => {
    await shownBy(proxy);
    const problems = checksOf(proxy).flatMap(({ problem }) => problem ?? []);
    return problems.some((problem) => /^stale, from the snapshot.*maxListBytes/.test(problem));
  }, true);
});

test('from 60 % of maxListBytes on, a list is remarked on while it still works', async () => {
  putTenant(47, 'annotations');
  const proxy = await start(MAX_LIST_BYTES);
  await eventually(async () => (await shownBy(proxy)).size, 48);
  const remarks = () => checksOf(proxy).flatMap(({ remark }) => remark ?? []);
  expect(remarks()).toEqual([]);
  for (let n = 0; n < 4; n++) server.annotate('web', `note-${n}`, 'x'.repeat(SIZE));
  await eventually(() => remarks().some((each) => each.includes('% of maxListBytes')), true);
});
