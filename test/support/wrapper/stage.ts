import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { Admin } from '../../../src/admin/admin.ts';
import type { RawSettings } from '../../../src/config/settings.ts';
import { isReady } from '../../../src/diagnosis/reading/health.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../eventually.ts';
import { putHeadless, putService, putSlice, type SmallEndpoint } from './small-cluster.ts';
import { PATHS } from './state-fixture.ts';
import { useAdmin, useCluster, useWrapper } from './use.ts';

/** The wrapper of edge-1 with its admin port, in a cluster with a Service for each thing that can be said of one. */
export interface Stage {
  readonly server: ApiServer;
  /** URL of the API server. */
  readonly apiServer: string;
  readonly proxy: NodeProxy;
  readonly admin: Admin;
}

const NEAR: SmallEndpoint = { ip: '10.0.0.1', node: 'edge-1' };
const SITE: SmallEndpoint = { ip: '10.0.0.2', node: 'edge-2' };
const FAR: SmallEndpoint = { ip: '10.0.0.3', node: 'edge-3' };
const asleep = (endpoint: SmallEndpoint): SmallEndpoint => ({ ...endpoint, ready: false });

const HOSTNAME = 'kubernetes.io/hostname';

/** Name, topology keys and endpoints of Services. */
const SERVICES: readonly (readonly [string, string[] | null, readonly SmallEndpoint[]])[] = [
  ['web', [HOSTNAME, 'site', '*'], [asleep(NEAR), SITE, FAR]],
  ['plain', null, [FAR]],
  ['here', [HOSTNAME], [asleep(NEAR), FAR]],
  ['anywhere', [HOSTNAME], [asleep(NEAR), asleep(FAR)]],
  ['lost', ['rack'], [FAR]],
  ['half', [HOSTNAME], [NEAR]],
  ['lone', [HOSTNAME], [NEAR]],
  ['trial', [HOSTNAME], [NEAR, SITE]],
  ['doomed', [HOSTNAME], [FAR]],
  ['hinted', ['site'], [SITE, { ...SITE, ip: '10.0.0.4' }]],
  ['moved', [HOSTNAME], [FAR]],
  ['empty', ['site'], []],
  ['bare', [], [NEAR]],
  ['preset', ['site'], [SITE]],
  ['invalid', [HOSTNAME], [NEAR]],
  ['ignored', null, [NEAR]],
  ['typo', ['topology.kubernetes.io/zon', '*'], [FAR]],
  ['unnamed', ['site'], [SITE]],
];

function putServices(server: ApiServer): void {
  for (const [name, keys, endpoints] of SERVICES) {
    putService(server, name, keys);
    putSlice(server, `${name}-1`, name, endpoints);
  }
  putHeadless(server, 'headless', ['site']);
  server.patch('services', 'web', { metadata: { labels: { app: 'web' } } });
  // Only on another node has an endpoint the second port of `half`, and none has the port of `lone`.
  server.patch('services', 'half', { spec: { ports: [port('http', 80), port('more', 81)] } });
  putSlice(server, 'half-2', 'half', [FAR]);
  server.patch('endpointslices', 'half-2', { ports: [port('more', 81)] });
  server.patch('services', 'lone', { spec: { ports: [port('lone', 80)] } });
  server.patch('services', 'unnamed', { spec: { ports: [port('', 80)] } });
  server.patch('endpointslices', 'unnamed-1', { ports: [port('', 80)] });
  server.patch('services', 'moved', { spec: { type: 'ExternalName', externalName: 'x.y' } });
  const hint = { addresses: [SITE.ip], nodeName: SITE.node, hints: { forZones: [{ name: 'z' }] } };
  server.patch('endpointslices', 'hinted-1', {
    endpoints: [hint, { ...hint, addresses: ['10.0.0.4'], hints: {} }],
  });
  for (const name of ['trial', 'doomed']) {
    server.annotate(name, 'kube-proxy-wrapper.io/filter', 'dry-run');
  }
  server.annotate('preset', 'topologyKeys', 'prefer-same-node');
  server.annotate('invalid', 'topologyKeys', '[site]');
  server.annotate('ignored', 'topologyKey', '["site"]');
  server.annotate('ignored', 'topologykeys', '["site"]');
}

function port(name: string, number: number) {
  return { name, protocol: 'TCP', port: number };
}

/** Opens it as kube-proxy would; it is closed later. */
export async function useStage(raw: RawSettings = {}): Promise<Stage> {
  const server = useCluster();
  putServices(server);
  const apiServer = await server.listen();
  const proxy = await useWrapper(apiServer, { defaultViewsMs: 0 }, raw);
  const admin = await useAdmin(proxy);
  for (const path of [PATHS.slices, PATHS.services]) await fetch(proxy.url + path);
  await eventually(() => isReady(proxy), true);
  return { server, apiServer, proxy, admin };
}
