import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { TimeSlice } from '../../src/admin/explain/time-slice.ts';
import { KernelRules } from '../../src/admin/status/kernel-rules.ts';
import { nodeStatus } from '../../src/admin/status/node-status.ts';
import { NodeReader } from '../../src/diagnosis/reading/node-reading.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { useFolder } from '../support/use-folder.ts';
import { putService, putSlice, type SmallEndpoint } from '../support/wrapper/small-cluster.ts';
import { metricsOf } from '../support/wrapper/state-fixture.ts';
import { useCluster, useWrapper } from '../support/wrapper/use.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const FAILING = 'kube_proxy_wrapper_services_without_ready_endpoints';

let cluster: ApiServer;
let proxy: NodeProxy;

beforeEach(async () => {
  cluster = useCluster();
  for (const name of ['relay', 'web']) putService(cluster, name, ['site']);
  // Without their authority, none is dialled.
  const relays = { service: 'default/relay', caFile: join(useFolder(), 'nowhere') };
  proxy = await useWrapper(await cluster.listen(), {}, { relays });
});

/** Gives both Services these endpoints, and reads them as kube-proxy. */
async function put(...endpoints: SmallEndpoint[]): Promise<void> {
  for (const name of ['relay', 'web']) putSlice(cluster, `${name}-1`, name, endpoints);
  await (await fetch(proxy.url + SLICES)).text();
}

async function failing(reason: string): Promise<string | undefined> {
  const line = new RegExp(`^${FAILING}\\{reason="${reason}"\\} (\\d+)$`, 'm');
  return line.exec(await metricsOf(proxy))?.[1];
}

async function policiesLine(): Promise<string> {
  const reader = new NodeReader(proxy);
  const slice = new TimeSlice(new AbortController().signal);
  const { lines } = await nodeStatus(reader, new KernelRules(reader), slice);
  return lines.flatMap(({ id, detail }) => (id === 'policies' ? [detail] : [])).join();
}

// An alert fired for ever at each site without a relay, and the advice sent nodes to the relays of other sites.
test.each([
  ['a site without a relay', 'excluded', { ip: '10.0.0.3', node: 'edge-3' }],
  ['a relay that is off', 'not_ready_here', { ip: '10.0.0.2', node: 'edge-2', ready: false }],
] as const)(
  '%s is no failing Service: nodes read from the API server',
  async (_, reason, endpoint) => {
    await put(endpoint, { ip: '10.0.0.9', node: 'edge-3' });
    // The other Service, which has the same endpoints.
    await eventually(() => failing(reason), '1');
    expect(await policiesLine()).toBe('default/web');
  },
);
