import { ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { ACCEPT, CODECS } from '../../support/guarantees/watch-recorder.ts';
import { open } from '../../support/http/http-client.ts';
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
async function send(method: string, path: string, headers: Record<string, string> = JSON_ONLY) {
  const response = await open(proxy.url, { method, path, headers });
  const { statusCode: code, headers: answered } = response;
  return { code, headers: answered, body: await buffer(response) };
}

async function statusFor(method: string, path: string, headers = JSON_ONLY) {
  const { body } = await send(method, path, headers);
  return JSON.parse(body.toString()) as Record<string, unknown>;
}

describe('a request that no view answers', () => {
  // test/security/attacks.integration.test.ts has each path, over both listeners.
  test.each([
    ['GET', '/api/v1/secrets', JSON_ONLY, 403, 'Forbidden'],
    ['POST', '/api/v1/namespaces/default/services', JSON_ONLY, 403, 'Forbidden'],
    ['DELETE', '/apis/discovery.k8s.io/v1', JSON_ONLY, 403, 'Forbidden'],
    ['PROPFIND', SLICES, JSON_ONLY, 405, 'MethodNotAllowed'],
    ['GET', SLICES, { accept: 'application/yaml' }, 406, 'NotAcceptable'],
    ['GET', `${SLICES}?shardSelector=x`, JSON_ONLY, 400, 'BadRequest'],
    ['GET', '/api//v1/services', JSON_ONLY, 400, 'BadRequest'],
    ['GET', '/api/v1/nodes/edge-1?watch=1', JSON_ONLY, 400, 'BadRequest'],
    ['GET', `${SLICES}?sendInitialEvents=true`, JSON_ONLY, 422, 'Invalid'],
  ])('%s %s of %j gets a Status with code %d', async (method, path, headers, code, reason) => {
    const status = { kind: 'Status', apiVersion: 'v1', code, reason };
    expect(await statusFor(method, path, headers)).toMatchObject(status);
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
