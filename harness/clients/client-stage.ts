import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiServer } from '../../fake-apiserver/api-server.ts';
import { kubeconfigFor } from '../../fake-apiserver/kubeconfig.ts';
import { writeKubeconfig } from '../api-server/kubeconfig.ts';
import { startHostWrapper } from '../hostile/host-wrapper.ts';
import { withCleanups } from '../with-cleanups.ts';

/** A wrapper in front of an API server in memory, and kubeconfigs for clients of both listeners. */
export type ClientStage = Awaited<ReturnType<typeof startClientStage>>;

const NODE = 'here';
const NAME = 'web';

export async function startClientStage() {
  return await withCleanups(async (cleanups) => {
    const folder = await mkdtemp(join(tmpdir(), 'kpw-clients-'));
    cleanups.defer(() => rm(folder, { recursive: true, force: true }));
    const api = createApiServer({
      initialResourceVersion: 100,
      authenticate: (token) => token ?? 'x',
    });
    cleanups.defer(() => api.close());
    for (const [name, site] of Object.entries({ [NODE]: 'a', 'node-a': 'a', 'node-b': 'b' })) {
      api.create('nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { site } } });
    }
    api.create('namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'default' },
    });
    api.create('services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: NAME, namespace: 'default', annotations: { topologyKeys: '["site"]' } },
      spec: { clusterIP: '10.96.0.10', type: 'ClusterIP', ports: [{ port: 80 }] },
    });
    const slice = (addresses: Readonly<Record<string, string>>) => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: NAME,
        namespace: 'default',
        labels: { 'kubernetes.io/service-name': NAME },
      },
      addressType: 'IPv4',
      endpoints: Object.entries(addresses).map(([ip, nodeName]) => ({
        addresses: [ip],
        conditions: { ready: true },
        nodeName,
      })),
      ports: [{ name: '', protocol: 'TCP', port: 80 }],
    });
    api.create('endpointslices', slice({}));
    const own = join(folder, 'wrapper.kubeconfig');
    writeFileSync(own, kubeconfigFor(await api.listen()));
    const wrapper = await startHostWrapper({
      kubeconfig: own,
      nodeName: NODE,
      settings: { handoverSeconds: 30 },
      https: true,
    });
    cleanups.defer(() => wrapper.stop());
    const kubeconfigs = { http: join(folder, 'http'), https: join(folder, 'https') };
    // @kubernetes/client-node reads over plain http only if TLS is not to be verified.
    writeFileSync(kubeconfigs.http, kubeconfigFor(wrapper.url));
    const { httpsUrl: server, caFile } = wrapper;
    writeKubeconfig(kubeconfigs.https, { server, caFile, token: 'client' });
    return {
      wrapper,
      folder,
      kubeconfigs,
      /** Gives the slice these addresses, each on node-a or node-b. */
      place: (addresses: Readonly<Record<string, string>>): void => {
        api.update('endpointslices', slice(addresses));
      },
      /** Gives the wrapper's node another site. */
      moveTo: (site: 'a' | 'b'): void => {
        api.label(NODE, 'site', site);
      },
    };
  });
}
