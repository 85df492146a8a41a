import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { KubeObject } from './support/api.ts';
import {
  annotateService,
  createNamespace,
  createNode,
  createPod,
  createService,
  createSlice,
  deleteService,
  deleteSlice,
  labelNode,
  setPodReady,
  waitForSlices,
} from './support/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from './support/control-plane.ts';
import { dial } from './support/dial.ts';
import { createTimings } from './support/timings.ts';
import { startWrappedNode, type WrappedNode, waitForBackends } from './support/wrapped-node.ts';

jest.setTimeout(180_000);

const timings = createTimings();
let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane();
});

afterAll(async () => {
  await plane?.stop();
  timings.print('change → backends in the kernel, in ms');
});

const NEAR = '10.244.1.5:8080';
const FAR = '10.244.1.6:8080';
const NEW = '10.244.1.7:8080';

/** The Service's own policy, unless a test says otherwise: near ones, else any. */
const SITE_ELSE_ANY = { topologyKeys: '["site","*"]' };

describe.each([
  { id: 'a', version: '1.36.3', mode: 'nftables' },
  { id: 'b', version: '1.36.3', mode: 'iptables' },
  { id: 'c', version: '1.33.13', mode: 'iptables' },
  { id: 'd', version: '1.33.13', mode: 'nftables' },
] as const)('a stock kube-proxy $version ($mode) behind the wrapper', ({ id, version, mode }) => {
  const namespace = `ns-${id}`;
  const [near, far, added] = [`near-${id}`, `far-${id}`, `new-${id}`];
  let node: WrappedNode;
  /** One of real Pods, and one of slices made by hand. */
  const services = new Map<'web' | 'hand', KubeObject>();

  beforeAll(async () => {
    const { admin } = plane;
    await createNamespace(admin, namespace);
    await createNode(admin, near, { site: 'a' });
    await createNode(admin, far, { site: 'b' });
    node = await startWrappedNode({ plane, nodeName: `here-${id}`, labels: { site: 'a' } });
    await node.netns.addEndpoints([NEAR, FAR, NEW]);
    const labels = { app: 'web' };
    await createPod(admin, { name: 'near', namespace, labels, nodeName: near, ip: '10.244.1.5' });
    await createPod(admin, { name: 'far', namespace, labels, nodeName: far, ip: '10.244.1.6' });
    await createNodePort('web', SITE_ELSE_ANY, labels);
    await waitForSlices(admin, 'web', ['10.244.1.5', '10.244.1.6'], namespace);
    await node.startKubeProxy({ version, mode });
  });

  afterAll(async () => {
    await node?.stop();
  });

  function specOf(name: 'web' | 'hand') {
    return services.get(name)?.spec;
  }

  async function createNodePort(
    name: 'web' | 'hand',
    annotations: Record<string, string>,
    selector?: Record<string, string>,
    clusterIP?: string,
  ): Promise<void> {
    const service = await createService(plane.admin, {
      name,
      namespace,
      annotations,
      ports: [{ port: 80, targetPort: 8080 }],
      ...(selector === undefined ? {} : { selector }),
      spec: { type: 'NodePort', ...(clusterIP === undefined ? {} : { clusterIP }) },
    });
    services.set(name, service);
  }

  async function putSlice(name: string, nodeName: string, address: string) {
    const endpoints = [{ addresses: [address], nodeName, conditions: { ready: true } }];
    const ports = [{ name: '', port: 8080, protocol: 'TCP' }];
    return await createSlice(plane.admin, { name, namespace, service: 'hand', endpoints, ports });
  }

  async function setSliceReady(name: string, ready: boolean) {
    const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/${name}`;
    const patch = [{ op: 'replace', path: '/endpoints/0/conditions/ready', value: ready }];
    return await plane.admin.patch(path, patch, 'json');
  }

  /** Makes a change and expects the kernel, and who answers, to follow it. */
  async function follow(
    what: string,
    change: () => Promise<unknown>,
    name: 'web' | 'hand',
    backends: readonly string[],
  ): Promise<void> {
    const start = performance.now();
    await change();
    const { clusterIP, ports } = specOf(name);
    await waitForBackends(node.netns, mode, { [`${clusterIP}:80`]: backends });
    timings.add(what, `${version} ${mode}`, Math.round(performance.now() - start));
    const answers = backends.length === 0 ? ['refused'] : backends;
    for (const target of [`${clusterIP}:80`, `${node.netns.address}:${ports[0].nodePort}`]) {
      const counts = await dial(node.netns, target, 30);
      expect([target, Object.keys(counts).sort()]).toEqual([target, answers]);
    }
  }

  const label = async (name: string, site: string | null) =>
    await labelNode(plane.admin, name, { site });
  const annotate = async (topologyKeys: string | null) =>
    await annotateService(plane.admin, 'web', { topologyKeys }, namespace);

  test('begins with the endpoints that the keys choose', async () => {
    await follow('start of kube-proxy', async () => {}, 'web', [NEAR]);
  });

  test('follows the labels of its own node', async () => {
    const { nodeName } = node;
    await follow('own node relabelled', () => label(nodeName, 'b'), 'web', [FAR]);
    await follow('own label removed', () => label(nodeName, null), 'web', [NEAR, FAR]);
    await follow('own label added', () => label(nodeName, 'a'), 'web', [NEAR]);
  });

  test('follows the labels of other nodes', async () => {
    await follow('other node relabelled, comes in', () => label(far, 'a'), 'web', [NEAR, FAR]);
    await follow('other node relabelled, goes out', () => label(far, 'b'), 'web', [NEAR]);
  });

  test('follows the readiness of Pods when it moves the key that wins', async () => {
    const ready = async (value: boolean) =>
      await setPodReady(plane.admin, 'near', value, namespace);
    await follow('readiness lost, next key wins', () => ready(false), 'web', [FAR]);
    await follow('readiness regained', () => ready(true), 'web', [NEAR]);
  });

  test('follows the annotation of the Service', async () => {
    await follow('Service un-annotated', () => annotate(null), 'web', [NEAR, FAR]);
    const hostname = '["kubernetes.io/hostname"]';
    await follow('Service annotated, no endpoint left', () => annotate(hostname), 'web', []);
    const any = '["kubernetes.io/hostname","*"]';
    await follow('annotation changed, all endpoints', () => annotate(any), 'web', [NEAR, FAR]);
    const site = SITE_ELSE_ANY.topologyKeys;
    await follow('annotation changed, near endpoints', () => annotate(site), 'web', [NEAR]);
  });

  test('filters a Service that is created after its slices', async () => {
    await putSlice('hand-near', near, '10.244.1.5');
    await putSlice('hand-far', far, '10.244.1.6');
    const create = () => createNodePort('hand', SITE_ELSE_ANY);
    await follow('Service created after its slices', create, 'hand', [NEAR]);
  });

  test('follows a Service that is deleted and created again', async () => {
    const { clusterIP } = specOf('hand');
    const start = performance.now();
    await deleteService(plane.admin, 'hand', namespace);
    await waitForBackends(node.netns, mode, { [`${clusterIP}:80`]: undefined });
    timings.add('Service deleted', `${version} ${mode}`, Math.round(performance.now() - start));
    const create = () => createNodePort('hand', {}, undefined, clusterIP);
    await follow('Service created again, no keys', create, 'hand', [NEAR, FAR]);
    await deleteService(plane.admin, 'hand', namespace);
    const createAnnotated = () => createNodePort('hand', SITE_ELSE_ANY, undefined, clusterIP);
    await follow('Service deleted and created at once', createAnnotated, 'hand', [NEAR]);
  });

  test('follows a slice whose sibling decides for it', async () => {
    const ready = (value: boolean) => async () => await setSliceReady('hand-near', value);
    await follow('sibling slice not ready', ready(false), 'hand', [FAR]);
    await follow('sibling slice ready again', ready(true), 'hand', [NEAR]);
    const drop = async () => await deleteSlice(plane.admin, 'hand-near', namespace);
    await follow('sibling slice deleted', drop, 'hand', [FAR]);
    const add = async () => await putSlice('hand-near', near, '10.244.1.5');
    await follow('sibling slice created again', add, 'hand', [NEAR]);
  });

  test('follows other nodes that are deleted and added', async () => {
    const { admin } = plane;
    const remove = (name: string) => async () => await admin.delete(`/api/v1/nodes/${name}`);
    const add = (name: string) => async () => await createNode(admin, name, { site: 'a' });
    await follow('other node deleted', remove(near), 'hand', [NEAR, FAR]);
    await follow('other node added again', add(near), 'hand', [NEAR]);
    await putSlice('hand-new', added, '10.244.1.7');
    await follow('other node added', add(added), 'hand', [NEAR, NEW]);
    await follow('added node deleted', remove(added), 'hand', [NEAR]);
  });
});
