import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  createNode,
  createService,
  createSlice,
} from '../../../harness/api-server/cluster-objects.ts';
import type { ControlPlane } from '../../../harness/api-server/control-plane.ts';
import { writeKubeconfig } from '../../../harness/api-server/kubeconfig.ts';
import { createAccount, type Right, rightsOf } from '../../../harness/deploy/account.ts';
import { createFabEdgeCommunities } from '../../../harness/deploy/fabedge.ts';
import { writeAside } from '../../../harness/deploy/overlay.ts';
import { startBarePlane } from '../../../harness/deploy/plane.ts';
import { components, kustomize, only, parseObjects } from '../../../harness/deploy/render.ts';
import { repository } from '../../../harness/deploy/repository.ts';
import { ensureTools, type Tools } from '../../../harness/deploy/tools.ts';
import { createNodeNetns, type NodeNetns } from '../../../harness/network/node-netns.ts';
import { startWrapper } from '../../../harness/node/wrapper.ts';
import { poll } from '../../../harness/poll.ts';
import { waitUntilReady } from '../../../harness/process/managed-process.ts';
import { closedLater, stoppedLater } from '../../support/closed-later.ts';
import { useFolder } from '../../support/use-folder.ts';

const nodeName = 'edge-1';
let tools: Tools;
let folder: string;
let plane: ControlPlane;
let netns: NodeNetns;

beforeAll(async () => {
  tools = await ensureTools();
  folder = useFolder();
  plane = stoppedLater(await startBarePlane());
  netns = stoppedLater(await createNodeNetns());
  await createNode(plane.admin, nodeName, { site: 'a' }, netns.address);
  await createService(plane.admin, {
    name: 'web',
    annotations: { topologyKeys: '["site"]' },
    ports: [{ port: 80 }],
  });
  const ports = [{ port: 80 }];
  const endpoints = [{ addresses: ['10.244.1.1'], nodeName }];
  await createSlice(plane.admin, { service: 'web', name: 'web-1', endpoints, ports });
}, 600_000);

/** Starts the bundle as a ServiceAccount, at two ports from `port` on, and waits until it runs. */
async function start(name: string, token: string, port: number, settings: object): Promise<void> {
  const kubeconfig = join(folder, `${name}.kubeconfig`);
  const server = plane.serverAt(netns.hostAddress);
  writeKubeconfig(kubeconfig, { server, caFile: plane.caFile, token });
  const configFile = join(folder, `${name}.yaml`);
  writeFileSync(configFile, JSON.stringify(settings));
  const wrapper = await startWrapper({
    netns,
    nodeName,
    name,
    kubeconfig,
    configFile,
    listen: `127.0.0.1:${port}`,
    adminListen: `127.0.0.1:${port + 1}`,
    program: join(repository, 'dist/main.js'),
    wait: false,
  });
  closedLater({ close: async () => await wrapper.stop('SIGKILL') });
  const healthz = async () => await netns.httpGet(`${wrapper.adminUrl}/healthz`);
  await waitUntilReady(wrapper, async () => (await healthz())?.status === 200);
}

describe('each right of the ClusterRole, with those of all components, is needed', () => {
  let rights: Right[];
  const pods = new Map<Right, number>();
  const nameOf = ({ group, resource, verb }: Right) =>
    `without-${group.replaceAll('.', '-')}-${resource}-${verb}`;

  beforeAll(async () => {
    await createFabEdgeCommunities(plane.admin);
    const base = await writeAside({ components: components() }, (path) => kustomize(tools, path));
    rights = rightsOf(only(parseObjects(base), 'ClusterRole').rules);
    const settings = { namespacePolicies: true, communities: { fabedgeCluster: 'beijing' } };
    let port = 10_400;
    // As many at a time as there are cores.
    const starts = rights.map((right) => async () => {
      port += 2;
      const at = port;
      const others = rights.filter((each) => each !== right);
      const token = await createAccount(plane.admin, nameOf(right), others);
      await start(nameOf(right), token, at, settings);
      pods.set(right, at);
    });
    while (starts.length > 0) await Promise.all(starts.splice(0, 4).map((each) => each()));
  }, 300_000);

  const portOf = (right: Right) => pods.get(right) ?? 0;

  test('without a right to read, what needs it never becomes ready', async () => {
    expect(rights).toHaveLength(14);
    const missing = async (right: Right) => {
      const url = `http://127.0.0.1:${portOf(right)}`;
      const admin = `http://127.0.0.1:${portOf(right) + 1}`;
      const ready = async () => {
        // The queries of kube-proxy and, for Endpoints, of other clients.
        await Promise.all(collections.map(async (path) => await netns.httpGet(url + path)));
        return (await netns.httpGet(`${admin}/readyz`))?.body ?? '';
      };
      const isRefused = (text: string) => /failed: .*(403|forbidden)/.test(text);
      await poll(ready, isRefused, {
        timeoutMs: 90_000,
        intervalMs: 500,
        what: nameOf(right),
      });
    };
    await Promise.all(rights.map(missing));
  });
});

/** What kube-proxy reads, and Endpoints. */
const collections = [
  `/api/v1/nodes?fieldSelector=metadata.name%3D${nodeName}`,
  '/apis/networking.k8s.io/v1/servicecidrs',
  '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=%21service.kubernetes.io%2Fheadless',
  '/api/v1/services?fieldSelector=spec.clusterIP%21%3DNone&labelSelector=%21service.kubernetes.io%2Fservice-proxy-name',
  '/api/v1/endpoints',
];
