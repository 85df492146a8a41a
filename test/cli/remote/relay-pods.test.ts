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

/** What is said about relays, by their node, if the nodes read from these. */
async function said(
  pods: readonly object[],
  relays: readonly (string | undefined)[],
  node?: string,
): Promise<string[]> {
  const client = { get: async () => ({ items: pods }) } as unknown as KubeClient;
  const reports = relays.map((relay, n): NodeReport => ({ node: `edge-${n}`, relay, lines: [] }));
  const lines = await relayLines(client, 'kube-system', reports, node);
  return [...lines].map(([name, [line]]) => `${name} ${line?.state}: ${line?.text}`);
}

const UNUSED = 'warning: no node reads from the relay on this node';

describe('a relay', () => {
  test.each<[string, Parameters<typeof said>, string[]]>([
    ['that nodes use is well', [[pod('a', '10.0.0.1')], ['10.0.0.1:10364', undefined]], []],
    ['with an IPv6 address, too', [[pod('a', 'fd00::1')], ['[fd00::1]:10364']], []],
    ['that no node uses is named', [[pod('a', '10.0.0.1')], [undefined]], [`a ${UNUSED}`]],
    [
      'that no node uses, beside another, is named',
      [[pod('a', '10.0.0.1'), pod('b', '10.0.0.2')], ['10.0.0.1:10364']],
      [`b ${UNUSED}`],
    ],
    [
      'that is not ready is named as that',
      [[pod('a', '10.0.0.1', 'False')], [undefined]],
      ['a warning: the relay on this node is not ready'],
    ],
    [
      'of which the next Pod is not ready is well',
      [[pod('a', '10.0.0.1'), pod('a', '10.0.0.1', 'False')], ['10.0.0.1:10364']],
      [],
    ],
    ['behind a ClusterIP is not judged', [[pod('a', '10.0.0.1')], ['10.96.0.80:443']], []],
    ['is not judged by one node', [[pod('a', '10.0.0.1')], [undefined], 'a'], []],
  ])('%s', async (_, [pods, relays, node], expected) => {
    expect(await said(pods, relays, node)).toEqual(expected);
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
