import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../embedded/api-server.ts';
import type { RawSettings } from '../../../src/config/settings.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../../src/filter/codec/resource.ts';
import type { Query } from '../../../src/proxy/api/query.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/proxy/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { useCluster, useWrapper } from '../../support/wrapper/use.ts';

const NAME = '!service.kubernetes.io/service-proxy-name';
const HEADLESS = '!service.kubernetes.io/headless';
const slices = (labelSelector: string): Query => ({
  resource: ENDPOINT_SLICES,
  namespace: '',
  labelSelector,
  fieldSelector: '',
  encoding: 'protobuf',
});

let server: ApiServer;
let proxy: NodeProxy;

beforeEach(() => {
  server = useCluster();
});

async function start(options: Partial<NodeProxyOptions>, raw: RawSettings = {}): Promise<void> {
  proxy = await useWrapper(await server.listen(), options, raw);
}

/** The open views except the own Node: their resources and selectors. */
const open = () =>
  proxy.views.sources
    .map(({ query }) => query)
    .filter(({ resource }) => resource === SERVICES || resource === ENDPOINT_SLICES)
    .map(({ resource, labelSelector, fieldSelector }) =>
      [resource.plural, labelSelector, fieldSelector].join(' ').trim(),
    );

describe('a view', () => {
  // Its next user would have watched a view without a reflector.
  test('that is used again before it is closed remains open until it has been idle for idleMs', async () => {
    await start({ idleViewMs: 50 });
    const query = slices('a=b');
    proxy.views.acquire(query).release();
    const lease = proxy.views.acquire(query);
    await delay(150);
    expect(open()).toContain('endpointslices a=b');
    expect(proxy.views.acquire(query).view).toBe(lease.view);
    lease.release();
    await delay(150);
    expect(open()).toContain('endpointslices a=b');
  });

  test('without users is closed after idleMs, unless the topology needs it', async () => {
    await start({ idleViewMs: 50 });
    proxy.views.acquire(slices('a=b')).release();
    await eventually(open, [`services ${NAME} spec.clusterIP!=None`]);
  });
});

describe('the topology requests Services', () => {
  test.each([
    ['1.35 and newer', HEADLESS, NAME, 'spec.clusterIP!=None'],
    ['1.33', `${HEADLESS},${NAME}`, `${HEADLESS},${NAME}`, 'spec.clusterIP!=None'],
  ])(
    'with the query of the kube-proxy %s that requested slices first, and its slices',
    async (_version, labels, ...selectors) => {
      await start({}, { cloud: { mode: 'passthrough' }, edge: { labelSelector: 'role=edge' } });
      const services: Query = {
        resource: SERVICES,
        namespace: '',
        labelSelector: selectors[0],
        fieldSelector: selectors[1],
        encoding: 'protobuf',
      };
      proxy.views.acquire(services);
      proxy.views.acquire(slices(labels));
      // Another client, with the queries of another kube-proxy.
      proxy.views.acquire(slices(`${NAME},x`));
      expect(open().sort()).toEqual(
        [
          `endpointslices ${NAME},x`,
          `endpointslices ${labels}`,
          `services ${selectors.join(' ')}`,
        ].sort(),
      );
    },
  );
});
