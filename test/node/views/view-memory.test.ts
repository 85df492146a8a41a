import { beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { Encoding } from '../../../src/filter/codec/codec.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../../src/filter/objects/resource.ts';
import type { ViewLease } from '../../../src/node/views/view-entry.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { liveBytes } from '../../support/live-bytes.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useCluster, useWrapper } from '../../support/wrapper/use.ts';

/** Largest allowed error of the estimate, as a factor. */
const FACTOR = 1.3;
const VIEWS = 4;

let server: ApiServer;
let proxy: NodeProxy;

beforeEach(async () => {
  server = useCluster();
  for (let n = 0; n < 1_500; n++) {
    putService(server, `s${n}`, n % 2 === 0 ? ['kubernetes.io/hostname'] : null);
    putSlice(
      server,
      `s${n}-abcde`,
      `s${n}`,
      Array.from({ length: 20 }, (_, ip) => ({
        ip: `10.${n >> 8}.${n & 255}.${ip}`,
        node: `node-${(n + 50 * ip) % 1_000}`,
        zone: `zone-${ip % 3}`,
      })),
    );
  }
  proxy = await useWrapper(await server.listen());
});

/** Opens views of the same objects and waits until they are complete. */
async function open(resource: typeof SERVICES, encoding: Encoding, first: number) {
  const leases: ViewLease[] = [];
  for (let n = first; n < first + VIEWS; n++) {
    const labelSelector = `x!=${n}`;
    const common = { resource, namespace: '', labelSelector, fieldSelector: '', encoding };
    leases.push(proxy.views.acquire(common));
  }
  await eventually(() => leases.every(({ view }) => view.started), true);
  return leases;
}

test.each([
  ['slices, in protobuf', ENDPOINT_SLICES, 'protobuf'],
  ['slices, in JSON', ENDPOINT_SLICES, 'json'],
  ['Services, in protobuf', SERVICES, 'protobuf'],
] as const)(
  'views of %s are charged the memory that they take, within a factor of 1.3',
  async (_, resource, encoding) => {
    const warm = await open(resource, encoding, 0);
    const before = { live: await liveBytes(), charged: proxy.views.budget.used.bytes };
    await open(resource, encoding, VIEWS);
    const taken = (await liveBytes()) - before.live;
    const charged = proxy.views.budget.used.bytes - before.charged;
    expect(charged).toBeGreaterThan(taken / FACTOR);
    expect(charged).toBeLessThan(taken * FACTOR);
    for (const lease of warm) lease.release();
  },
);
