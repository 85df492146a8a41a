import { request as rawRequest, ServerResponse } from 'node:http';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { NodeProxy } from '../../../src/proxy/node-proxy.ts';
import { advancingClock } from '../../support/advancing-clock.ts';
import { ACCEPT, CODECS } from '../../support/guarantees/watch-recorder.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useCluster, useWrapper } from '../../support/wrapper/use.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const JSON_ONLY = { accept: 'application/json' };

let server: ApiServer;
let proxy: NodeProxy;

beforeEach(async () => {
  server = useCluster();
  putService(server, 'web', ['kubernetes.io/hostname']);
  putSlice(server, 'web-a', 'web', [
    { ip: '10.0.0.1', node: 'edge-1' },
    { ip: '10.0.0.2', node: 'edge-2' },
  ]);
  proxy = await useWrapper(await server.listen());
});

/** Sends a request with exactly this path, which fetch would normalise. */
function send(
  method: string,
  path: string,
  headers: Record<string, string> = JSON_ONLY,
): Promise<{ code: number; headers: Record<string, unknown>; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(proxy.url);
    const request = rawRequest({ hostname, port, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const { statusCode = 0, headers: answered } = response;
        resolve({ code: statusCode, headers: answered, body: Buffer.concat(chunks) });
      });
    });
    request.on('error', reject);
    request.end();
  });
}

async function statusFor(method: string, path: string, headers = JSON_ONLY) {
  const { body } = await send(method, path, headers);
  return JSON.parse(body.toString()) as Record<string, unknown>;
}

describe('the allow-list', () => {
  test.each([
    SLICES,
    `${SLICES}?labelSelector=!service.kubernetes.io/headless`,
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-a',
    '/api/v1/services?limit=500&resourceVersion=0',
    '/api/v1/endpoints',
    '/api/v1/nodes/edge-1',
    '/api/v1/nodes?fieldSelector=metadata.name%3Dedge-1',
    '/apis/networking.k8s.io/v1/servicecidrs',
    ...['/api', '/api?timeout=32s', '/apis', '/api/v1', '/apis/discovery.k8s.io/v1'],
  ])('GET %s is answered', async (path) => {
    expect((await send('GET', path)).code).toBe(200);
  });

  test.each([
    ['GET', '/api/v1/nodes'],
    ['GET', '/api/v1/nodes/edge-2'],
    ['GET', '/api/v1/nodes?fieldSelector=metadata.name%3Dedge-2'],
    ['GET', '/api/v1/secrets'],
    ['GET', '/api/v1/namespaces/kube-system/secrets/token'],
    ['GET', '/api/v1/namespaces/default/services/web/proxy'],
    ['GET', '/api/v1/watch/services'],
    ['GET', '/apis/discovery.k8s.io/v1beta1/endpointslices'],
    ['GET', '/version'],
    ['GET', '/'],
    ['GET', '/apis/apps/v1'],
    ['POST', '/api'],
    ['DELETE', '/apis/discovery.k8s.io/v1'],
    ['POST', '/api/v1/namespaces/default/services'],
    ['DELETE', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-a'],
    ['PATCH', '/api/v1/nodes/edge-1'],
    ['DELETE', '/apis/events.k8s.io/v1/namespaces/default/events'],
    ['GET', '/api/v1/namespaces/default/events'],
    ['POST', '/api/v1/namespaces/default/events/some-name'],
    ['PUT', '/api/v1/namespaces/default/events/some-name'],
  ])(
    '%s %s is forbidden, with a Status, and never reaches the API server',
    async (method, path) => {
      const before = server.requests.length;
      const status = await statusFor(method, path);
      expect(status).toMatchObject({
        kind: 'Status',
        apiVersion: 'v1',
        code: 403,
        reason: 'Forbidden',
      });
      // The wrapper's own query for its Node does not belong to this caller.
      const own = 'metadata.name=edge-1';
      const seen = server.requests
        .slice(before)
        .filter(({ query }) => query.get('fieldSelector') !== own);
      expect(seen.map((each) => each.path)).not.toContain(path.split('?')[0]);
    },
  );

  test('discovery is refused to a web page, and never reaches the API server', async () => {
    const before = server.requests.length;
    const forged = { ...JSON_ONLY, host: 'evil.example' };
    expect((await send('GET', '/api', forged)).code).toBe(403);
    const { headers } = await send('GET', '/api');
    expect(headers['content-type']).toBe('application/json');
    expect(server.requests.slice(before).map(({ path }) => path)).not.toContain('/api');
  });
});

describe('invalid requests', () => {
  test.each([
    ['an Accept that cannot be served', SLICES, { accept: 'application/yaml' }, 406],
    [
      'metadata only',
      SLICES,
      { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' },
      406,
    ],
    ['a resourceVersion that is not a number', `${SLICES}?resourceVersion=abc`, JSON_ONLY, 400],
    ['an unknown parameter', `${SLICES}?shardSelector=x`, JSON_ONLY, 400],
    ['a parameter given twice', `${SLICES}?watch=1&watch=0`, JSON_ONLY, 400],
    ['an unknown match', `${SLICES}?resourceVersion=1&resourceVersionMatch=New`, JSON_ONLY, 400],
    ['dot segments', '/api/v1/../v1/secrets', JSON_ONLY, 400],
    ['a whole URL', `http://10.0.0.1${SLICES}`, JSON_ONLY, 400],
    ['encoded slashes', '/api/v1/namespaces/a%2Fb/services', JSON_ONLY, 400],
    ['a broken escape', '/api/v1/%zz', JSON_ONLY, 400],
    ['empty segments', '/api//v1/services', JSON_ONLY, 400],
    ['initial events for a list', `${SLICES}?sendInitialEvents=true`, JSON_ONLY, 422],
  ])('%s: a Status that says so', async (_name, path, headers, code) => {
    expect(await statusFor('GET', path, headers)).toMatchObject({ kind: 'Status', code });
  });

  test.each(['OPTIONS', 'PROPFIND'])('%s is not a method of a collection: 405', async (method) => {
    expect(await statusFor(method, SLICES)).toMatchObject({ code: 405 });
  });

  test('an error that cannot be written ends its connection, and nothing else', async () => {
    jest.spyOn(ServerResponse.prototype, 'writeHead').mockImplementationOnce(() => {
      throw new Error('it cannot be written');
    });
    await expect(send('GET', '/')).rejects.toThrow('socket hang up');
    expect((await send('GET', '/')).code).toBe(403);
  });

  test('a Status is written in the encoding that the client accepts', async () => {
    const { headers, body } = await send('GET', '/api/v1/secrets', { accept: ACCEPT.protobuf });
    expect(headers['content-type']).toBe('application/vnd.kubernetes.protobuf');
    expect(CODECS.protobuf.decodeStatus(body)).toMatchObject({ code: 403, reason: 'Forbidden' });
  });
});

describe('idle views', () => {
  const clock = advancingClock();

  test('are closed for a new query, the one that has been idle longest first, and none in use', async () => {
    await proxy.close();
    await server.close();
    proxy = await useWrapper(await server.listen(), { maxViews: 3 });
    const list = (n: number) => send('GET', `${SLICES}?labelSelector=n%3D${n}`);
    for (const n of [1, 2, 3]) await list(n);
    const watch = new AbortController();
    await fetch(`${proxy.url}${SLICES}?labelSelector=n%3D1&watch=1`, { signal: watch.signal });
    await list(2);
    clock.advance(5_000);
    await list(4);
    const open = proxy.views.sources.map(({ query }) => query.labelSelector);
    expect(open).toEqual(expect.arrayContaining(['n=1', 'n=2', 'n=4']));
    expect(open).not.toContain('n=3');
    watch.abort();
  });
});

describe('LIST', () => {
  async function list(query = '') {
    const { code, body } = await send('GET', `${SLICES}${query}`);
    return { code, body: JSON.parse(body.toString()) as ListBody };
  }
  interface ListBody {
    kind: string;
    metadata: { resourceVersion: string };
    items: { metadata: { name: string; resourceVersion: string }; endpoints: unknown[] }[];
  }

  test('shows the endpoints that the policy selects, in the form of an apiserver', async () => {
    const { body } = await list();
    expect(body.kind).toBe('EndpointSliceList');
    expect(body.items).toMatchObject([{ metadata: { name: 'web-a' } }]);
    expect(body.items[0]?.endpoints).toEqual([
      { addresses: ['10.0.0.1'], conditions: { ready: true }, nodeName: 'edge-1' },
    ]);
  });

  test('any version up to the newest is accepted', async () => {
    const { body } = await list();
    const newest = BigInt(body.metadata.resourceVersion);
    const answers = await Promise.all([
      list(`?resourceVersion=${newest}`),
      list(`?resourceVersion=${newest - 1n}&resourceVersionMatch=NotOlderThan`),
      list(`?resourceVersion=${newest}&resourceVersionMatch=Exact`),
      list('?resourceVersion=0&resourceVersionMatch=NotOlderThan'),
    ]);
    expect(answers.map(({ code }) => code)).toEqual([200, 200, 200, 200]);
  });

  test('a version above the newest gets 504 with the cause ResourceVersionTooLarge', async () => {
    const { body } = await list();
    const above = BigInt(body.metadata.resourceVersion) + 1n;
    expect(await statusFor('GET', `${SLICES}?resourceVersion=${above}`)).toMatchObject({
      code: 504,
      reason: 'Timeout',
      details: { causes: [{ reason: 'ResourceVersionTooLarge' }] },
    });
  });

  test('an older state and a continue token of another server get 410', async () => {
    const { body } = await list();
    const older = BigInt(body.metadata.resourceVersion) - 1n;
    const exact = `${SLICES}?resourceVersion=${older}&resourceVersionMatch=Exact`;
    expect(await statusFor('GET', exact)).toMatchObject({ code: 410, reason: 'Expired' });
    expect(await statusFor('GET', `${SLICES}?continue=abc`)).toMatchObject({ code: 410 });
  });

  test('GET of one object shows what the list shows, and 404 what it does not', async () => {
    const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
    const { body } = await send('GET', `${path}/web-a`);
    const one = JSON.parse(body.toString());
    expect(one).toMatchObject({ kind: 'EndpointSlice', apiVersion: 'discovery.k8s.io/v1' });
    expect(one.endpoints).toEqual((await list()).body.items[0]?.endpoints);
    expect(await statusFor('GET', `${path}/none`)).toMatchObject({
      code: 404,
      reason: 'NotFound',
      message: expect.stringContaining('endpointslices.discovery.k8s.io "none" not found'),
      details: { name: 'none', group: 'discovery.k8s.io', kind: 'endpointslices' },
    });
    const missing = await statusFor('GET', '/api/v1/namespaces/default/services/none');
    expect(missing).toMatchObject({ details: { name: 'none', kind: 'services' } });
    expect(missing.details).not.toHaveProperty('group');
  });
});
