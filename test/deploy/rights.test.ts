import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { KubeObject } from '../e2e/support/api.ts';
import { createNode, createService, createSlice } from '../e2e/support/cluster-objects.ts';
import type { ControlPlane } from '../e2e/support/control-plane.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { startKubeProxy } from '../e2e/support/kube-proxy.ts';
import type { ManagedProcess } from '../e2e/support/managed-process.ts';
import { createNodeNetns, type NodeNetns } from '../e2e/support/node-netns.ts';
import { issue, makeAuthority } from '../support/http/certificates.ts';
import { createAccount, type Right, requestToken, rightsOf } from './support/account.ts';
import { createFabEdgeCommunities } from './support/fabedge.ts';
import { type Image, layOutImage } from './support/image.ts';
import { writeAside } from './support/overlay.ts';
import { kubectl, startBarePlane } from './support/plane.ts';
import { type Pod, startPod, waitFor } from './support/pod.ts';
import { components, kustomize, only, parseObjects } from './support/render.ts';
import { repository } from './support/repository.ts';
import { ensureTools, type Tools } from './support/tools.ts';

const nodeName = 'edge-1';
const running: ManagedProcess[] = [];
let tools: Tools;
let folder: string;
let image: Image;
let plane: ControlPlane;
let netns: NodeNetns;
let yaml: string;
let objects: KubeObject[];

beforeAll(async () => {
  tools = await ensureTools();
  folder = mkdtempSync(join(tmpdir(), 'kpw-rights-'));
  chmodSync(folder, 0o755);
  image = layOutImage(join(folder, 'root'));
  plane = await startBarePlane();
  netns = await createNodeNetns();
  await createNode(plane.admin, nodeName, { site: 'a' }, netns.address);
  await createService(plane.admin, {
    name: 'web',
    annotations: { topologyKeys: '["site"]' },
    ports: [{ port: 80 }],
  });
  const ports = [{ port: 80 }];
  const endpoints = [{ addresses: ['10.244.1.1'], nodeName }];
  await createSlice(plane.admin, { service: 'web', name: 'web-1', endpoints, ports });
  yaml = filledIn(await kustomize(tools, 'manifests/overlays/kubeadm'));
  objects = parseObjects(yaml);
}, 600_000);

afterAll(async () => {
  for (const process of running) await process.stop('SIGKILL');
  await netns?.stop();
  await plane?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Manifests with the one thing to be filled in, where the API server is. */
function filledIn(manifests: string): string {
  return manifests
    .replace(/(control-plane|api-server)\.example\.com/, netns.hostAddress)
    .replace('"6443"', `"${new URL(plane.server).port}"`);
}

async function start(
  name: string,
  token: string,
  port: number,
  manifests: readonly KubeObject[],
): Promise<Pod> {
  const listen = ['--listen', `127.0.0.1:${port}`, '--admin-listen', `127.0.0.1:${port + 1}`];
  const extraArgs = port === 10_360 ? [] : listen;
  const ca = readFileSync(plane.caFile, 'utf8');
  const pod = await startPod({
    name,
    objects: manifests,
    image,
    nodeName,
    netns,
    token,
    ca,
    extraArgs,
  });
  running.push(pod.process);
  await waitFor(pod, netns, `http://127.0.0.1:${port + 1}/healthz`);
  return pod;
}

/** The same manifests with other settings, and further files beside them. */
function withSettings(settings: object, files: Record<string, string>): KubeObject[] {
  const changed = (object: KubeObject) =>
    object.kind === 'ConfigMap' && object.data['config.yaml'] !== undefined
      ? { ...object, data: { 'config.yaml': JSON.stringify(settings), ...files } }
      : object;
  return objects.map(changed);
}

describe('the DaemonSet of the kubeadm overlay, applied for real', () => {
  let pod: Pod;
  let kubeProxy: ManagedProcess;

  beforeAll(async () => {
    kubeProxy = await startKubeProxyTooEarly();
    await kubectl(tools, plane, ['apply', '--server-side', '--filename', '-'], yaml);
    pod = await start(
      'pod',
      await requestToken(plane.admin, 'kube-proxy-wrapper'),
      10_360,
      objects,
    );
  });

  /** A kube-proxy whose server does not listen. It is stopped for as long as it must not send requests. */
  async function startKubeProxyTooEarly(): Promise<ManagedProcess> {
    const kubeconfig = join(folder, 'kube-proxy.conf');
    const { data } = only(objects, 'ConfigMap', 'kube-proxy-via-wrapper');
    writeFileSync(kubeconfig, data['kubeconfig.conf']);
    const { binaries } = plane;
    const options = { binaries, netns, nodeName, kubeconfig, version: '1.36.3' } as const;
    const early = await startKubeProxy({ ...options, mode: 'nftables', wait: false });
    running.push(early);
    const log = () => early.log();
    await eventually(log, (text) => text.includes('connection refused'));
    early.child.kill('SIGSTOP');
    return early;
  }

  test('its probes succeed before any kube-proxy connects, so that kube-proxy can wait for the wrapper', async () => {
    const readiness = async () => await pod.probe('readinessProbe');
    await eventually(readiness, (status) => status === 200);
    expect(await pod.probe('livenessProbe')).toBe(200);
  });

  test('a stock kube-proxy that was started first finds it, with the kubeconfig of the overlay', async () => {
    kubeProxy.child.kill('SIGCONT');
    const tables = async () => (await netns.httpGet('http://127.0.0.1:10249/metrics'))?.body ?? '';
    const hasSynced = (body: string) =>
      /^kubeproxy_sync_proxy_rules_last_timestamp_seconds\S* [1-9]/m.test(body);
    await eventually(tables, hasSynced, { timeoutMs: 40_000 });
    expect(await pod.probe('readinessProbe')).toBe(200);
    const metrics = await netns.httpGet('http://127.0.0.1:10361/metrics');
    expect(metrics?.body).toContain('kube_proxy_wrapper_node_set_nodes{selector="site=a"} 1');
    expect(metrics?.body).toContain('kube_proxy_wrapper_client_watches 4');
  });

  test('the next Pod of an update takes over at the same ports, and nobody is refused meanwhile', async () => {
    const token = await requestToken(plane.admin, 'kube-proxy-wrapper');
    const ca = readFileSync(plane.caFile, 'utf8');
    const next = await startPod({ name: 'next', objects, image, nodeName, netns, token, ca });
    running.push(next.process);
    // kubelet may take the old one's answer for that of the new one, and end the old one before the new one listens.
    pod.terminate();
    const { child } = pod.process;
    const answers: (number | undefined)[] = [];
    while (child.exitCode === null && child.signalCode === null) {
      answers.push((await netns.httpGet('http://127.0.0.1:10360/api/v1/services'))?.status);
    }
    expect(new Set(answers)).toEqual(new Set([200]));
    expect(child.exitCode).toBe(0);
    const log = () => pod.process.log();
    expect(log()).toContain('stopping when the next process listens');
    const metrics = async () => (await netns.httpGet('http://127.0.0.1:10361/metrics'))?.body ?? '';
    // This kube-proxy was refused a while ago, and client-go remembers that for two minutes: it waits up to 60 s.
    const areBack = (body: string) => body.includes('kube_proxy_wrapper_client_watches 4');
    await eventually(metrics, areBack, { timeoutMs: 75_000 });
  }, 120_000);

  test('the API server has refused nothing, and got only lists and watches', async () => {
    const own = plane
      .requests()
      .filter(({ user }) => user === 'system:serviceaccount:kube-system:kube-proxy-wrapper');
    expect(new Set(own.map(({ verb }) => verb))).toEqual(new Set(['list', 'watch']));
    expect(own.filter(({ code }) => (code ?? 0) >= 300)).toEqual([]);
  });
});

test('with the component scrape, metrics and probes are at the address of the node', async () => {
  const scraped = await writeAside({ components: ['manifests/components/scrape'] }, (path) =>
    kustomize(tools, path),
  );
  const pod = await startPod({
    name: 'scraped',
    image,
    nodeName,
    netns,
    objects: parseObjects(filledIn(scraped)),
    token: await requestToken(plane.admin, 'kube-proxy-wrapper'),
    ca: readFileSync(plane.caFile, 'utf8'),
    // The node's own is taken.
    extraArgs: ['--listen', '127.0.0.1:10390'],
  });
  running.push(pod.process);
  await waitFor(pod, netns, `http://${netns.address}:10361/metrics`);
  expect(await pod.probe('livenessProbe')).toBe(200);
});

describe('each right of the ClusterRole, with those of all components, is needed', () => {
  let rights: Right[];
  const pods = new Map<Right, number>();
  const nameOf = ({ group, resource, verb }: Right) =>
    `without-${group.replaceAll('.', '-')}-${resource}-${verb}`;
  const isRead = ({ verb }: Right) => verb === 'list' || verb === 'watch';

  beforeAll(async () => {
    await createFabEdgeCommunities(plane.admin);
    const base = await writeAside({ components: components() }, (path) => kustomize(tools, path));
    rights = rightsOf(only(parseObjects(base), 'ClusterRole'));
    const authority = await makeAuthority();
    const { cert, key } = await issue(authority, 'system:kube-proxy');
    const serving = await issue(authority, 'wrapper');
    writeFileSync(join(folder, 'wrapper-ca.pem'), authority.cert);
    writeFileSync(join(folder, 'kube-proxy.pem'), `${cert}\n${key}`);
    const withPort = (port: number) =>
      withSettings(
        {
          namespacePolicies: true,
          communities: { fabedgeCluster: 'beijing' },
          https: {
            listen: `127.0.0.1:${port}`,
            certFile: '/etc/kube-proxy-wrapper/wrapper.crt',
            keyFile: '/etc/kube-proxy-wrapper/wrapper.key',
            clientCaFile: '/etc/kube-proxy-wrapper/clients.crt',
          },
        },
        {
          'clients.crt': authority.cert,
          'wrapper.crt': serving.cert,
          'wrapper.key': serving.key,
        },
      );
    let port = 10_400;
    // As many at a time as there are cores.
    const starts = rights.map((right) => async () => {
      port += 3;
      const at = port;
      const others = rights.filter((each) => each !== right);
      const token = await createAccount(plane.admin, nameOf(right), others);
      await start(nameOf(right), token, at, withPort(at + 2));
      pods.set(right, at);
    });
    while (starts.length > 0) await Promise.all(starts.splice(0, 4).map((each) => each()));
  }, 120_000);

  const portOf = (right: Right) => pods.get(right) ?? 0;

  test('without a right to read, what needs it never becomes ready', async () => {
    const reads = rights.filter(isRead);
    expect(reads).toHaveLength(14);
    const missing = async (right: Right) => {
      const url = `http://127.0.0.1:${portOf(right)}`;
      const admin = `http://127.0.0.1:${portOf(right) + 1}`;
      const ready = async () => {
        // The queries of kube-proxy and, for Endpoints, of other clients.
        await Promise.all(collections.map(async (path) => await netns.httpGet(url + path)));
        return (await netns.httpGet(`${admin}/readyz`))?.body ?? '';
      };
      const isRefused = (text: string) => /failed: .*(403|forbidden)/.test(text);
      await eventually(ready, isRefused, {
        timeoutMs: 30_000,
        intervalMs: 500,
        what: nameOf(right),
      });
    };
    await Promise.all(reads.map(missing));
  });

  test('without the right to review access of others, the owner of a client certificate is refused', async () => {
    const program = join(repository, 'test/deploy/support/read-with-certificate.ts');
    const read = async (right: Right) => {
      const url = `https://127.0.0.1:${portOf(right) + 2}`;
      const caFile = join(folder, 'wrapper-ca.pem');
      const args = [program, url, caFile, join(folder, 'kube-proxy.pem')];
      return await netns.exec(process.execPath, args);
    };
    const asks = ({ resource }: Right) => resource === 'subjectaccessreviews';
    const [ask] = rights.filter(asks);
    const [other] = rights.filter(({ resource }) => resource === 'endpoints');
    if (ask === undefined || other === undefined) throw new Error('there are no such rights');
    expect(await read(other)).toBe('200');
    expect(await read(ask)).toBe('503');
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
