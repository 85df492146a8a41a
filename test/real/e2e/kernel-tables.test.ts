import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  annotateService,
  createNamespace,
  createNode,
  createService,
  deleteService,
  deleteSlice,
  labelNode,
} from '../../../harness/api-server/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../../../harness/api-server/control-plane.ts';
import { putSlice, setEndpointReady } from '../../../harness/node/placed-service.ts';
import {
  startWrappedNode,
  type WrappedNode,
  waitForBackends,
} from '../../../harness/node/wrapped-node.ts';
import { poll } from '../../../harness/poll.ts';
import { stoppedLater } from '../../support/closed-later.ts';

jest.setTimeout(600_000);

let plane: ControlPlane;

beforeAll(async () => {
  plane = stoppedLater(await startControlPlane());
});

const NEAR = '10.244.1.5:8080';
const FAR = '10.244.1.6:8080';
const BOTH = [NEAR, FAR];

/** The commands that show what the kernel has. */
const DOCUMENTED = readFileSync('docs/operations-node.md', 'utf8');

/** Near endpoints, else any. */
const SITE_ELSE_ANY = '["site","*"]';
const SITE = { topologyKeys: '["site"]' };
const ZONE = 'topology.kubernetes.io/zone';
const OPENYURT = 'openyurt.io/topologyKeys';
const NODE_POOL = 'apps.openyurt.io/nodepool';
const FILTER = 'kube-proxy-wrapper.io/filter';
const keyed = (topologyKeys: string) => ({ topologyKeys });

describe.each([
  { id: 'a', streamingLists: true, mode: 'nftables' },
  { id: 'b', streamingLists: true, mode: 'iptables' },
  { id: 'c', streamingLists: false, mode: 'iptables' },
  { id: 'd', streamingLists: false, mode: 'nftables' },
] as const)('a stock kube-proxy ($mode, streaming lists: $streamingLists)', (row) => {
  const { id, mode } = row;
  const namespace = `ns-${id}`;
  const here = `here-${id}`;
  const near = `near-${id}`;
  const far = `far-${id}`;
  const clusterIP = `10.96.201.${id.charCodeAt(0)}`;
  const nodePort = 30_000 + id.charCodeAt(0);
  let node: WrappedNode;

  beforeAll(async () => {
    await createNamespace(plane.admin, namespace);
    await addNode(near, 'a');
    await addNode(far, 'b');
    await addSlice('web-near', near, NEAR);
    await addSlice('web-far', far, FAR);
    node = await startWrappedNode({
      plane,
      nodeName: here,
      labels: { site: 'a', [ZONE]: 'z1', [NODE_POOL]: 'p1' },
      settings: { namespacePolicies: true, compatibility: ['openyurt'] },
    });
    await node.netns.addEndpoints(BOTH);
    await node.startKubeProxy(row);
  });

  afterAll(async () => {
    await node?.stop();
  });

  const addNode = async (name: string, site: string) =>
    await createNode(plane.admin, name, {
      site,
      [NODE_POOL]: name === near ? 'p1' : 'p2',
      [ZONE]: name === near ? 'z1' : 'z2',
    });
  const addSlice = async (name: string, nodeName: string, at: string) =>
    await putSlice(plane.admin, { name, namespace, service: 'web' }, [
      { at, node: nodeName, zone: nodeName === near ? 'z1' : 'z2' },
    ]);
  const addService = async (annotations: Record<string, string>) =>
    await createService(plane.admin, {
      name: 'web',
      namespace,
      annotations,
      ports: [{ port: 80, nodePort }],
      spec: { type: 'NodePort', clusterIP },
    });
  const removeService = async () => await deleteService(plane.admin, 'web', namespace);
  const removeNode = async (name: string) => await plane.admin.delete(`/api/v1/nodes/${name}`);
  const label = async (name: string, site: string | null) =>
    await labelNode(plane.admin, name, { site });
  const ready = async (value: boolean) =>
    await setEndpointReady(plane.admin, 'web-near', 0, value, namespace);
  const annotate = async (annotations: Record<string, string | null>) =>
    await annotateService(plane.admin, 'web', annotations, namespace);
  const annotateOther = async (path: string, annotations: Record<string, string | null>) =>
    await plane.admin.patch(`/api/v1/${path}`, { metadata: { annotations } });

  /** Each row continues the last one. Undefined: the Service is in no table. */
  test.each<[change: string, make: () => Promise<unknown>, backends: string[] | undefined]>([
    ['a Service that is created after its slices', () => addService(keyed(SITE_ELSE_ANY)), [NEAR]],
    ['another label of its own node', () => label(here, 'b'), [FAR]],
    ['its own node without the label', () => label(here, null), BOTH],
    ['its own node with the label again', () => label(here, 'a'), [NEAR]],
    ['another node that comes in by its label', () => label(far, 'a'), BOTH],
    ['another node that goes out by its label', () => label(far, 'b'), [NEAR]],
    ['another node that is deleted', () => removeNode(near), BOTH],
    ['another node that is added', () => addNode(near, 'a'), [NEAR]],
    ['a sibling slice that is not ready', () => ready(false), [FAR]],
    ['a sibling slice that is ready again', () => ready(true), [NEAR]],
    [
      'a sibling slice that is deleted',
      () => deleteSlice(plane.admin, 'web-near', namespace),
      [FAR],
    ],
    ['a sibling slice that is created', () => addSlice('web-near', near, NEAR), [NEAR]],
    ['keys that no endpoint matches', () => annotate(keyed('["kubernetes.io/hostname"]')), []],
    ['the same, else any', () => annotate(keyed('["kubernetes.io/hostname","*"]')), BOTH],
    ['a preset', () => annotate(keyed('prefer-same-zone')), [NEAR]],
    ['an invalid policy', () => annotate(keyed('["*","site"]')), BOTH],
    ['no policy', () => annotate({ topologyKeys: null }), BOTH],
    ['the policy of its Namespace', () => annotateOther(`namespaces/${namespace}`, SITE), [NEAR]],
    ['no keys, before those of its Namespace', () => annotate(keyed('[]')), BOTH],
    [
      'the policy of OpenYurt',
      () => annotate({ topologyKeys: null, [OPENYURT]: 'openyurt.io/nodepool' }),
      [NEAR],
    ],
    ['a policy that is switched off', () => annotate({ [FILTER]: 'off' }), BOTH],
    ['a policy that is switched on', () => annotate({ [FILTER]: null }), [NEAR]],
    [
      'a node that is switched off',
      () => annotateOther(`nodes/${here}`, { [FILTER]: 'off' }),
      BOTH,
    ],
    [
      'a node that is switched on',
      () => annotateOther(`nodes/${here}`, { [FILTER]: null }),
      [NEAR],
    ],
    ['a Service that is deleted', removeService, undefined],
    ['a Service that is created again', () => addService(keyed('["*"]')), BOTH],
    [
      'a Service that is deleted and created at once',
      async () => {
        await removeService();
        await addService(keyed(SITE_ELSE_ANY));
      },
      [NEAR],
    ],
  ])('follows %s', async (_change, make, backends) => {
    await make();
    await waitForBackends(node.netns, mode, { [`${clusterIP}:80`]: backends });
    if (backends === undefined) return;
    const answers = backends.length === 0 ? ['refused'] : backends;
    for (const target of [`${clusterIP}:80`, `${node.netns.address}:${nodePort}`]) {
      // Only a refusal is tried again: the kernel may refuse what begins while kube-proxy writes its rules.
      const { value } = await poll(
        async () => Object.keys(await node.netns.dial(target, 30)).sort(),
        (found) => found.filter((answer) => !answers.includes(answer)).join() !== 'refused',
        { what: `${target} is not refused` },
      );
      expect(value).toEqual(answers);
    }
  });

  test('the line of docs/operations-node.md prints the backends of a Service', async () => {
    const tool = mode === 'nftables' ? 'nft' : 'iptables-save';
    const line = DOCUMENTED.split('\n').find((each) => each.startsWith(`${tool} `));
    const printed = await node.netns.exec('sh', [
      '-c',
      `${line}`.replace('shop/', `${namespace}/`),
    ]);
    const addresses = printed.match(/10[.]244(?:[.]\d+){2}(?=( [.] |[:/])8080)/g);
    expect(new Set(addresses)).toEqual(new Set([NEAR.split(':')[0]]));
  });
});
