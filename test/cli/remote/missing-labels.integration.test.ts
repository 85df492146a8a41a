import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { KUBECTL_KPW } from '../../../cli/definitions/remote.ts';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { transcriptOf } from '../../support/commands/transcript.ts';
import { eventually } from '../../support/eventually.ts';
import { type RemoteCluster, useRemoteCluster } from '../../support/remote/remote-cluster.ts';
import { putNode, putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useAdmin, useCluster, useWrapper } from '../../support/wrapper/use.ts';

/* Wrappers on edge-1 and edge-2, and a third node without one. Each test has one Service, with an endpoint there. */

let server: ApiServer;
let cluster: RemoteCluster;
let count = 0;

beforeAll(async () => {
  server = useCluster({ tls: undefined });
  putNode(server, 'rack-1', { 'example.com/rack': 'r1' });
  cluster = await useRemoteCluster(server);
  for (const node of ['edge-1', 'edge-2']) {
    const proxy = await useWrapper(cluster.upstream, {}, { nodeName: node });
    for (const path of ['/apis/discovery.k8s.io/v1/endpointslices', '/api/v1/services']) {
      await fetch(proxy.url + path);
    }
    const adminUrl = (await useAdmin(proxy)).url;
    cluster.pods.push({ name: `wrapper-${node}`, node, adminUrl });
  }
});

beforeEach(() => {
  cluster.refusals.clear();
  if (count++ === 0) return;
  server.delete('services', 'default/far');
  server.delete('endpointslices', 'default/far-1');
});

const kpw = (line: string) =>
  transcriptOf(KUBECTL_KPW, `${line} --kubeconfig KUBECONFIG`, { KUBECONFIG: cluster.kubeconfig });

/** The lines about policies with what to do next, and the exit code. */
async function policies(line: string): Promise<string> {
  const printed = await kpw(line);
  const said = printed.match(/^\[.*\] +policies .*\n( +next: .*\n)?|^exit code .*\n/gm) ?? [];
  return `\n$ kubectl kpw ${line}\n${said.join('')}`;
}

test.each<[what: string, keys: string[]]>([
  ['that is near to one that nodes have is a mistake', ['Site']],
  ['that is near to none is a mistake', ['floor']],
  ['of which another node has only the name is a mistake', ['rack']],
  ['before * is a mistake', ['Site', '*']],
  [
    'that is well known is a warning as long as another key wins',
    ['topology.kubernetes.io/zone', '*'],
  ],
  ['that is well known is a mistake if connections fail', ['topology.kubernetes.io/zone']],
  [
    'that is the community is a mistake if no node is in one, as far as all nodes say so',
    ['kube-proxy-wrapper.io/community'],
  ],
  ['that another node has is as intended', ['example.com/rack']],
])('a key without nodes %s', async (_, keys) => {
  putService(server, 'far', keys);
  putSlice(server, 'far-1', 'far', [{ ip: '10.0.0.9', node: 'rack-1' }]);
  const isRead = async (node: string) =>
    (await kpw(`explain far --node ${node} -o json`)).includes('"rack-1"');
  for (const node of ['edge-1', 'edge-2']) await eventually(() => isRead(node), true);
  const printed = [await policies('status'), await policies('status --node edge-1')];
  cluster.refusals.set('/api/v1/nodes', 403);
  printed.push(`\nWithout the right to list nodes:\n`, await policies('status'));
  printed.push(await policies('status --node edge-1'));
  expect(printed.join('')).toMatchSnapshot();
});
