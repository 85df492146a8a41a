import { describe, expect, test } from '@jest/globals';
import type { KubeClient } from '../../../cli/client/kube-client.ts';
import { clusterReport, type NodeReport } from '../../../cli/remote/cluster-report.ts';
import { relayLines } from '../../../cli/remote/relay-pods.ts';

/** The Pod of a relay on a node. */
function pod(nodeName: string, ip: string, ready = 'True') {
  return {
    metadata: { name: `relay-${nodeName}` },
    spec: { nodeName },
    status: { podIPs: [{ ip }], conditions: [{ type: 'Ready', status: ready }] },
  };
}

/** The next Pod of a relay, which does not start. */
function crashing(nodeName: string) {
  const state = { waiting: { reason: 'CrashLoopBackOff' } };
  const lastState = { terminated: { exitCode: 1, reason: 'Error' } };
  const container = { name: 'kube-proxy-wrapper-relay', state, lastState };
  const status = { podIPs: [{ ip: '10.0.0.1' }], containerStatuses: [container] };
  return { metadata: { name: 'next' }, spec: { nodeName }, status };
}

/** Which relay each node reads from; undefined: none. A node that is not named has not answered. */
type Reads = Readonly<Record<string, string | undefined>>;

/** What is said about relays, by their node. */
async function said(pods: readonly object[], reads: Reads, node?: string): Promise<string[]> {
  const client = { get: async () => ({ items: pods }) } as unknown as KubeClient;
  const answered = Object.entries(reads).map(([name, relay]): NodeReport => {
    return { node: name, version: '1.2.0', relay, lines: [] };
  });
  const nodes = Object.keys(reads);
  const silent = ['a', 'b'].filter((name) => !nodes.includes(name));
  const reports = [...answered, ...silent.map((name) => ({ node: name, lines: [] }))];
  const lines = await relayLines(client, 'kube-system', reports, node);
  return [...lines].flatMap(([name, all]) =>
    all.map(({ state, text }) => `${name} ${state}: ${text}`),
  );
}

const UNUSED = 'warning: no node reads from the relay on this node';
const CRASHES =
  'warning: a Pod of the relay on this node does not run: CrashLoopBackOff: ended with code 1';
const [A, B] = [pod('a', '10.0.0.1'), pod('b', '10.0.0.2')];

describe('a relay', () => {
  test.each<[string, Parameters<typeof said>, string[]]>([
    ['that nodes use is well', [[A], { a: undefined, c: '10.0.0.1:10364' }], []],
    ['with an IPv6 address, too', [[pod('a', 'fd00::1')], { a: '[fd00::1]:10364' }], []],
    ['that no node uses is named', [[A], { a: undefined }], [`a ${UNUSED}`]],
    // Three nodes choose the same of two relays in one of four sites.
    [
      'is well beside another of its site, which all nodes use',
      [[A, B], { a: '10.0.0.1:10364', b: '10.0.0.1:10364', c: '10.0.0.1:10364' }],
      [],
    ],
    [
      'of another site, where no node uses any, is named',
      [[A, B], { a: '10.0.0.1:10364', b: undefined, d: undefined }],
      [`b ${UNUSED}`],
    ],
    ['is not judged if the wrapper beside it has not answered', [[A], { c: undefined }], []],
    [
      'that is not ready is named as that',
      [[pod('a', '10.0.0.1', 'False')], { a: undefined }],
      ['a warning: the relay on this node is not ready'],
    ],
    [
      'of which the next Pod is not ready is well',
      [[A, pod('a', '10.0.0.1', 'False')], { a: '10.0.0.1:10364' }],
      [],
    ],
    [
      'of which the next Pod crashes is named, though the one before it is used',
      [[A, crashing('a')], { a: '10.0.0.1:10364' }],
      [`a ${CRASHES}`],
    ],
    ['whose only Pod crashes is named as that', [[crashing('a')], {}], [`a ${CRASHES}`]],
    ['behind a ClusterIP is not judged', [[A], { a: undefined, c: '10.96.0.80:443' }], []],
    ['is not judged by one node', [[A], { a: undefined }, 'a'], []],
  ])('%s', async (_, [pods, reads, node], expected) => {
    expect(await said(pods, reads, node)).toEqual(expected);
  });
});

test('the report says which node reads from which relay, and how many do', () => {
  const nodes = ['10.0.0.1:10364', '10.0.0.2:10364', '10.0.0.1:10364', undefined].map(
    (relay, n): NodeReport => ({ node: `edge-${n}`, relay, lines: [] }),
  );
  const report = clusterReport(nodes);
  expect(report.text({ wide: false, headers: true })).toBe(`relay 10.0.0.1:10364: edge-0, edge-2
relay 10.0.0.2:10364: edge-1
3 of 4 nodes read from a relay
4 of 4 nodes are well
`);
  expect(report.data).toMatchObject({
    nodes: [{ node: 'edge-0', relay: '10.0.0.1:10364' }, {}, {}, {}],
  });
});
