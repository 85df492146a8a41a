import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { listNames, SERVICES_PATH, SLICES_PATH } from '../../support/policy/policy-cluster.ts';
import { putEndpoints, putHeadless, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useCluster, useWrapper } from '../../support/wrapper/use.ts';

const HEADLESS = { 'service.kubernetes.io/headless': '' };
const OTHER_PROXY = { 'service.kubernetes.io/service-proxy-name': 'x' };
const ENDPOINT = { ip: '10.0.0.1', node: 'edge-1' };

let server: ApiServer;
let proxy: NodeProxy;

beforeEach(() => {
  server = useCluster();
});

/** Creates a headless Service with its slice and Endpoints, which have its labels, as the controllers make them. */
function putLabelled(name: string, labels: Record<string, string>): void {
  putHeadless(server, name, []);
  server.patch('services', name, { metadata: { labels } });
  putSlice(server, `${name}-a`, name, [ENDPOINT], { ...labels, ...HEADLESS });
  putEndpoints(server, name, [ENDPOINT]);
  server.patch('endpoints', name, { metadata: { labels: { ...labels, ...HEADLESS } } });
}

/** What the views of endpoints make of a Service, in short. */
function kindsOf(service: string): Set<string> {
  const projections = proxy.views.sources.flatMap(({ projection }) => projection ?? []);
  return new Set(projections.map((each) => each.inspect(service).outcome.kind));
}

const shown = async () => [
  await listNames(proxy.url + SERVICES_PATH, 'json'),
  await listNames(proxy.url + SLICES_PATH, 'json'),
  await listNames(`${proxy.url}/api/v1/endpoints`, 'json'),
];

describe.each([
  ['FilterIfLabelExists', 'mesh'],
  ['FilterIfLabelDoesNotExists', 'plain'],
] as const)('with serviceFilter %s', (mode, left) => {
  const both = [
    ['mesh', 'plain'],
    ['mesh-a', 'plain-a'],
    ['mesh', 'plain'],
  ];
  const one = [[left], [`${left}-a`], [left]];

  // Regression: a slice that is written by hand does not inherit the labels of its Service.
  test.each([false, true])(
    'slices without the labels of their headless Service follow the Service (headless: %s)',
    async (headless) => {
      for (const [name, labels] of [
        ['mesh', { mesh: 'yes' }],
        ['plain', {}],
      ] as const) {
        putLabelled(name, labels);
        putSlice(server, `${name}-a`, name, [ENDPOINT], HEADLESS);
        server.patch('endpoints', name, { metadata: { labels: { ...HEADLESS, mesh: null } } });
      }
      const settings = { serviceFilter: { mode, label: 'mesh' }, headless };
      proxy = await useWrapper(await server.listen(), {}, settings);
      await eventually(shown, one);
      const mesh = left === 'mesh' ? null : 'yes';
      server.patch('services', left, { metadata: { labels: { mesh } } });
      await eventually(shown, [[], [], []]);
    },
  );

  test('slices that the newest kube-proxy reads of a Service that it does not read are hidden too', async () => {
    for (const [name, labels] of [
      ['mesh', { mesh: 'yes', ...OTHER_PROXY }],
      ['plain', OTHER_PROXY],
    ] as const) {
      putLabelled(name, labels);
      putSlice(server, `${name}-a`, name, [ENDPOINT], labels);
    }
    proxy = await useWrapper(await server.listen(), {}, { serviceFilter: { mode, label: 'mesh' } });
    const query = { labelSelector: '!service.kubernetes.io/headless' };
    await eventually(() => listNames(proxy.url + SLICES_PATH, 'protobuf', query), [`${left}-a`]);
  });

  test('slices alone follow the Service too, also of one that kube-proxy does not read', async () => {
    putLabelled('mesh', { mesh: 'yes' });
    putLabelled('plain', {});
    putSlice(server, 'mesh-a', 'mesh', [ENDPOINT], HEADLESS);
    proxy = await useWrapper(await server.listen(), {}, { serviceFilter: { mode, label: 'mesh' } });
    await eventually(() => listNames(proxy.url + SLICES_PATH, 'protobuf'), [`${left}-a`]);
  });

  test.each([false, true])(
    'a headless Service and its endpoints are hidden together (headless: %s)',
    async (headless) => {
      putLabelled('mesh', { mesh: 'yes' });
      putLabelled('plain', {});
      const settings = { serviceFilter: { mode, label: 'mesh' }, headless };
      proxy = await useWrapper(await server.listen(), {}, settings);
      const hidden = left === 'mesh' ? 'default/plain' : 'default/mesh';
      await eventually(shown, one);
      expect(kindsOf(hidden)).toEqual(new Set(['hidden']));
      const annotations = { 'kube-proxy-wrapper.io/filter': 'off' };
      server.patch('nodes', 'edge-1', { metadata: { annotations } });
      await eventually(shown, both);
      expect(kindsOf(hidden)).toEqual(new Set(['unfiltered']));
    },
  );
});
