import { expect, test } from '@jest/globals';
import { readiness } from '../../../src/admin/readiness.ts';
import { eventually } from '../../support/eventually.ts';
import { listAddresses, putCommunity, SLICES_PATH } from '../../support/policy/policy-cluster.ts';
import { createSmallCluster, putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { recordingLogger, startWrapper } from '../../support/wrapper/wrapper-fixture.ts';

const PATH = '/apis/fabedge.io/v1alpha1/communities';

test('communities that are not defined count as none; they count once they are defined, until they are removed', async () => {
  const server = createSmallCluster();
  const { logger, lines } = recordingLogger();
  const absent = ({ path }: { path: string }) => path === PATH;
  server.refuse(absent, 404);
  putService(server, 'web', ['kube-proxy-wrapper.io/community']);
  const endpoints = [1, 2].map((n) => ({ ip: `10.0.0.${n}`, node: `edge-${n}` }));
  putSlice(server, 'web-a', 'web', endpoints);
  putCommunity(server, 'one', ['here.edge-1', 'here.edge-2']);
  const settings = { communities: { fabedgeCluster: 'here' } };
  const proxy = await startWrapper(await server.listen(), { logger }, settings);
  const seen = () => listAddresses(proxy.url + SLICES_PATH);
  try {
    expect(await seen()).toEqual([]);
    expect(proxy.clusterWatchers.sources[0]?.status).toMatchObject({
      synced: true,
      error: undefined,
    });
    expect(readiness(proxy).filter(({ problem }) => problem !== undefined)).toEqual([]);
    server.refuse(absent, undefined);
    // It is requested again after five seconds.
    await eventually(seen, [1, 2]);
    server.refuse(absent, 404);
    server.cutWatches();
    await eventually(seen, []);
    expect(lines.filter(({ level }) => level >= 50)).toEqual([]);
  } finally {
    await proxy.close();
    await server.close();
  }
});
