import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { AuditedRequest } from '../../../harness/api-server/audit-log.ts';
import { createNode, createService } from '../../../harness/api-server/cluster-objects.ts';
import {
  type ControlPlane,
  startControlPlane,
  testUsers,
} from '../../../harness/api-server/control-plane.ts';
import { startInformers } from '../../../harness/informer/informer.ts';
import { startKubeProxy } from '../../../harness/node/kube-proxy.ts';
import { startWrappedNode, type WrappedNode } from '../../../harness/node/wrapped-node.ts';
import { poll } from '../../../harness/poll.ts';
import { stoppedLater } from '../../support/closed-later.ts';

jest.setTimeout(600_000);

let plane: ControlPlane;

beforeAll(async () => {
  plane = stoppedLater(await startControlPlane());
  const { admin } = plane;
  await createNode(admin, 'other', { site: 'a', rack: 'r2' });
  const ports = [{ port: 80 }];
  const keys = {
    site: '["kubernetes.io/hostname","site","*"]',
    rack: '["rack","site"]',
    zone: '["topology.kubernetes.io/zone"]',
    absent: '["a-label-that-this-node-lacks"]',
  };
  for (const [name, topologyKeys] of Object.entries(keys)) {
    await createService(admin, { name, ports, annotations: { topologyKeys } });
  }
  await createService(admin, { name: 'plain', ports });
});

type User = keyof typeof testUsers;

/** Lists and watches of a user since a time, in order. */
function reads(user: User, since: number): AuditedRequest[] {
  return plane
    .requests({ user: testUsers[user], since })
    .filter(({ verb }) => verb === 'list' || verb === 'watch');
}

/** What a request reads, without its version and verb: `nodes labelSelector=site=a`. */
function query({ resource, namespace, uri }: AuditedRequest): string {
  const { searchParams } = new URL(uri, 'https://server');
  const selectors = ['labelSelector', 'fieldSelector'].flatMap((name) =>
    searchParams.get(name) ? [`${name}=${searchParams.get(name)}`] : [],
  );
  return [resource, ...(namespace === '' ? [] : [namespace]), ...selectors].join(' ');
}

function openWatches(user: User, since: number): string[] {
  const watches = reads(user, since).filter(({ verb, open }) => verb === 'watch' && open);
  return watches.map(query).sort();
}

/** Waits until each query has its watch, and no new request has come for two seconds. */
async function untilQuiet(user: User, since: number): Promise<void> {
  let last = 0;
  let looks = 0;
  const state = () => {
    const queries = new Set(reads(user, since).map(query));
    return { count: reads(user, since).length, queries, watched: openWatches(user, since) };
  };
  const isQuiet = ({ count, queries, watched }: ReturnType<typeof state>) => {
    looks = count === last ? looks + 1 : 0;
    last = count;
    return count > 0 && looks >= 4 && [...queries].every((each) => watched.includes(each));
  };
  const what = `requests of ${user} to come to rest`;
  await poll(state, isQuiet, { intervalMs: 500, timeoutMs: 60_000, what });
}

const NODE_SETS = ['rack=r1', 'site=a', 'topology.kubernetes.io/zone=z'].map(
  (selector) => `nodes labelSelector=${selector}`,
);

describe.each([
  { streamingLists: true, mode: 'nftables', otherMode: 'iptables' },
  { streamingLists: false, mode: 'iptables', otherMode: 'nftables' },
] as const)('of a kube-proxy (streaming lists: $streamingLists), the API server', (row) => {
  const { streamingLists, mode, otherMode } = row;
  const kind = { streamingLists, mode };
  const nodeName = `here-${mode}`;
  let node: WrappedNode;
  let since: number;
  /** What a kube-proxy alone watches. */
  let alone: string[];

  beforeAll(async () => {
    since = Date.now();
    const labels = { site: 'a', rack: 'r1', 'topology.kubernetes.io/zone': 'z' };
    node = await startWrappedNode({ plane, nodeName, labels });
    const { netns } = node;
    const kubeconfig = plane.kubeconfig('kubeProxy', { server: plane.serverAt(netns.hostAddress) });
    const { binaries } = plane;
    const direct = await startKubeProxy({ binaries, netns, nodeName, kubeconfig, ...kind });
    await untilQuiet('kubeProxy', since);
    alone = openWatches('kubeProxy', since);
    await direct.stop();
    await node.startKubeProxy(kind);
    await untilQuiet('wrapper', since);
  });

  afterAll(async () => {
    await node?.stop();
  });

  test('gets the same watches as from a kube-proxy alone, and one per node set', () => {
    expect(alone).toContain(`nodes fieldSelector=metadata.name=${nodeName}`);
    expect(openWatches('wrapper', since)).toEqual([...alone, ...NODE_SETS].sort());
  });

  test('gets each list and watch once', () => {
    const asked = reads('wrapper', since);
    const byVerb = (verb: string) => asked.filter((request) => request.verb === verb);
    const queries = [...new Set(asked.map(query))].sort();
    expect(byVerb('watch').map(query).sort()).toEqual(queries);
    expect(byVerb('list').map(query).sort()).toEqual(queries);
  });

  test('never gets a request for all Nodes, and for other Nodes only requests for metadata', () => {
    const ofNodes = reads('wrapper', since).filter(({ resource }) => resource === 'nodes');
    const own = `nodes fieldSelector=metadata.name=${nodeName}`;
    const kinds = ofNodes
      .filter((request) => request.verb === 'list')
      .map((request) => [query(request), request.answerKind]);
    expect(new Map(kinds as [string, string][])).toEqual(
      new Map([
        [own, 'NodeList'],
        ...NODE_SETS.map((set) => [set, 'PartialObjectMetadataList'] as const),
      ]),
    );
  });

  test('gets no further request for a second kube-proxy and informers behind the same wrapper', async () => {
    const from = Date.now();
    const ports = { healthz: 11256, metrics: 11249 };
    const second = await node.startKubeProxy({ ...kind, mode: otherMode, ports });
    // The query of kube-proxy itself.
    const [labelSelector = ''] = alone.flatMap(
      (watch) => /^endpointslices labelSelector=(.*)/.exec(watch)?.[1] ?? [],
    );
    const informers = startInformers({
      binaries: plane.binaries,
      netns: node.netns,
      variants: [true, false].map((streaming) => ({
        name: `streaming ${streaming}`,
        server: node.wrapper().url,
        resource: 'endpointslices',
        labelSelector,
        contentType: 'protobuf',
        streaming,
      })),
    });
    await informers.allSynced();
    await informers.stop();
    await second.stop();
    expect(reads('wrapper', from)).toEqual([]);
  });
});
