import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  type ControlPlane,
  startControlPlane,
  testUsers,
} from '../../../harness/api-server/control-plane.ts';
import {
  apiServers,
  ensureApiServer,
  ensureKubeProxy,
} from '../../../harness/versions/components.ts';
import { expectToFollowSite } from '../../../harness/versions/kube-proxy-judge.ts';
import { startSiteScene } from '../../../harness/versions/site-scene.ts';

/* Older API servers behind the wrapper, with a kube-proxy that streams its lists, and one that does not. */

jest.setTimeout(600_000);

describe.each(apiServers)('API server $version', ({ version, kubeProxy }) => {
  let plane: ControlPlane;

  beforeAll(async () => {
    const kubeApiserver = await ensureApiServer(version);
    plane = await startControlPlane({ binaries: { kubeApiserver } });
  });

  afterAll(async () => {
    await plane?.stop();
  });

  test('is the version that it should be', async () => {
    expect(await plane.admin.get('/version')).toMatchObject({ gitVersion: `v${version}` });
  });

  const kinds = [
    { mode: 'iptables', streamingLists: false },
    { mode: 'nftables', streamingLists: true },
  ] as const;
  test.each(kubeProxy === undefined ? kinds : [kinds[0]])(
    'kube-proxy (streaming lists: $streamingLists) programs $mode and follows a relabel, over HTTP/2',
    async (kind) => {
      const { mode } = kind;
      const since = Date.now();
      const scene = await startSiteScene({ plane, id: mode });
      try {
        const own =
          kubeProxy === undefined ? undefined : { kubeProxy: await ensureKubeProxy(kubeProxy) };
        await scene.node.startKubeProxy(kind, own);
        await expectToFollowSite(scene, mode);
        // One connection for all watches, and one for Events, which are forwarded. With HTTP/1.1 each watch would need
        // its own.
        const open = plane.requests({ user: testUsers.wrapper, verb: 'watch', open: true, since });
        expect(open.length).toBeGreaterThan(3);
        const port = new URL(plane.server).port;
        const sockets = await scene.node.netns.exec('ss', [
          '-Htn',
          'state',
          'established',
          'dport',
          '=',
          `:${port}`,
        ]);
        expect(sockets.trim().split('\n').length).toBeLessThanOrEqual(2);
      } finally {
        await scene.stop();
      }
    },
  );
});
