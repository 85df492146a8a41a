import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { ensureTraefik } from '../../../harness/versions/components.ts';
import { type HttpsSite, startHttpsSite } from '../../../harness/versions/https-site.ts';
import { type SliceClient, startSliceClient } from '../../../harness/versions/slice-client.ts';

/*
 * Traefik's provider for Ingresses reads Services and EndpointSlices from the wrapper, over https with a
 * ServiceAccount's token. Its Ingresses, which the wrapper does not filter, are forwarded to the API server.
 */

jest.setTimeout(120_000);

const [NEAR, FAR] = ['http://10.244.1.5:8080', 'http://10.244.1.6:8080'];

let site: HttpsSite;

beforeAll(async () => {
  site = await startHttpsSite('ingress');
  const paths = ['local', 'plain'].map((name) => ({
    path: `/${name}`,
    pathType: 'Prefix',
    backend: { service: { name, port: { number: 80 } } },
  }));
  const ingresses = `/apis/networking.k8s.io/v1/namespaces/${site.namespace}/ingresses`;
  const spec = { rules: [{ http: { paths } }] };
  await site.plane.admin.create(ingresses, { metadata: { name: 'site' }, spec });
});

afterAll(async () => {
  await site?.stop();
});

async function withTraefik(
  server: 'wrapper' | 'API server',
  run: (traefik: SliceClient) => Promise<void>,
): Promise<void> {
  const { url, caFile } = site.servers[server];
  const command = [await ensureTraefik(), url, caFile, site.token, site.namespace];
  const traefik = startSliceClient(site.node.netns, `traefik-${server.at(0)}`, command);
  try {
    await run(traefik);
  } finally {
    await traefik.stop();
  }
}

test('Traefik has the backends of the site, and follows a relabel of its node', async () => {
  const since = Date.now();
  await withTraefik('wrapper', async (traefik) => {
    await traefik.sees({ local: [NEAR], plain: [NEAR, FAR] });
    await site.moveTo('b');
    await traefik.sees({ local: [FAR], plain: [NEAR, FAR] });
    await site.moveTo(null);
    await traefik.sees({ local: [], plain: [NEAR, FAR] });
    await site.moveTo('a');
    await traefik.sees({ local: [NEAR], plain: [NEAR, FAR] });
  });
  const { user } = site;
  expect(site.plane.requests({ user, resource: 'endpointslices', since })).toEqual([]);
  const forwarded = site.plane.requests({ user, resource: 'ingresses', verb: 'watch', since });
  expect(forwarded.length).toBeGreaterThan(0);
});

test('Traefik has all backends from the API server itself', async () => {
  await withTraefik('API server', async (traefik) => {
    await traefik.sees({ local: [NEAR, FAR], plain: [NEAR, FAR] });
  });
});
