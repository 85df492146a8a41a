import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createNode } from '../../../harness/api-server/cluster-objects.ts';
import {
  type ControlPlane,
  startControlPlane,
  testUsers,
} from '../../../harness/api-server/control-plane.ts';
import { writeServingFiles } from '../../../harness/certificates.ts';
import { send } from '../../../harness/hostile/http.ts';
import { startKubeProxy } from '../../../harness/node/kube-proxy.ts';
import { createPlacedService } from '../../../harness/node/placed-service.ts';
import {
  startWrappedNode,
  type WrappedNode,
  waitForBackends,
} from '../../../harness/node/wrapped-node.ts';
import { poll } from '../../../harness/poll.ts';
import { stoppedLater } from '../../support/closed-later.ts';

jest.setTimeout(600_000);

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const NEAR = '10.244.1.5:8080';

let plane: ControlPlane;
let node: WrappedNode;
let target: string;
let caFile: string;

beforeAll(async () => {
  plane = stoppedLater(await startControlPlane());
  const { admin, folder } = plane;
  const { certFile, keyFile, ...served } = await writeServingFiles(folder);
  caFile = served.caFile;
  const https = { listen: '0.0.0.0:10362', certFile, keyFile };
  await createNode(admin, 'near', { site: 'a' });
  await createNode(admin, 'far', { site: 'b' });
  const labels = { site: 'a' };
  node = stoppedLater(
    await startWrappedNode({ plane, nodeName: 'here', labels, settings: { https } }),
  );
  const options = { name: 'web', annotations: { topologyKeys: '["site"]' } };
  ({ target } = await createPlacedService(admin, options, [
    { at: NEAR, node: 'near' },
    { at: '10.244.1.6:8080', node: 'far' },
  ]));
});

/** Sends a request to the wrapper over https, from outside the node. */
const ask = async (path: string, token?: string) =>
  await send(`https://${node.netns.address}:10362${path}`, {
    ca: readFileSync(caFile),
    ...(token === undefined ? {} : { token }),
  });

describe('over https, in front of a real API server', () => {
  test('callers get what the API server grants them, in views and beside them', async () => {
    const { kubeProxy, nobody, admin } = plane.tokens;
    expect((await ask(SLICES)).status).toBe(401);
    expect((await ask(SLICES, 'made-up')).status).toBe(401);
    expect((await ask(SLICES, nobody)).status).toBe(403);
    const view = await ask(SLICES, kubeProxy);
    expect(view.status).toBe(200);
    expect(view.body).toContain('10.244.1.5');
    expect(view.body).not.toContain('10.244.1.6');
    expect((await ask('/api/v1/secrets', kubeProxy)).status).toBe(403);
    expect((await ask('/api/v1/secrets', admin)).status).toBe(200);
    expect((await ask('/api/v1/secrets', 'made-up')).status).toBe(401);
  });

  test.each([
    { mode: 'nftables', streamingLists: true, ports: { healthz: 10256, metrics: 10249 } },
    { mode: 'iptables', streamingLists: false, ports: { healthz: 10266, metrics: 10269 } },
  ] as const)('kube-proxy programs $mode (streaming lists: $streamingLists)', async (kind) => {
    const { mode, streamingLists } = kind;
    const server = 'https://127.0.0.1:10362';
    const kubeconfig = plane.kubeconfig('kubeProxy', { server, caFile });
    const { binaries } = plane;
    const since = Date.now();
    const { netns, nodeName } = node;
    const options = { binaries, netns, nodeName, kubeconfig, ...kind };
    stoppedLater(await startKubeProxy(options));
    await waitForBackends(node.netns, mode, { [target]: [NEAR] });
    const user = testUsers.kubeProxy;
    // The second one is known, and asks nothing for half a minute.
    if (streamingLists) {
      const reviews = plane.requests({ user, resource: 'selfsubjectaccessreviews', since });
      expect(reviews.length).toBeGreaterThan(0);
    }
    const events = () => plane.requests({ user, resource: 'events', verb: 'create', since });
    await poll(
      async () => events(),
      (list) => list.some(({ code }) => code === 201),
    );
    expect(plane.requests({ user, verb: 'watch', since })).toEqual([]);
  });
});
