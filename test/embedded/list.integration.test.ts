import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { sendRequest } from '../support/embedded/embedded-client.ts';
import { node, service, slice, useApiServer } from '../support/embedded/embedded-server.ts';

const start = useApiServer();

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const fixture = (name: string) => readFileSync(new URL(`../fixtures/${name}`, import.meta.url));

/** Names of a list's items. */
async function names(url: string): Promise<string[]> {
  const answer = await sendRequest(url);
  expect([answer.status, answer.body.toString()]).toEqual([200, expect.anything()]);
  return answer.json().items.map((item: { metadata: { name: string } }) => item.metadata.name);
}

/** A server with the objects of a real one. */
async function startRestored() {
  const running = await start();
  const list = JSON.parse(fixture('services.list.json').toString());
  running.server.restore('services', list.items, 324);
  return running;
}

describe('LIST', () => {
  test('returns the bytes of a real API server, in JSON by default', async () => {
    const { url } = await startRestored();
    const json = await sendRequest(`${url}/api/v1/services?limit=500&resourceVersion=0`);
    expect(json.headers['content-type']).toBe('application/json');
    expect(json.body.equals(fixture('services.list.json'))).toBe(true);
  });

  test('returns the protobuf bytes of a real API server', async () => {
    const { url, server } = await startRestored();
    server.restore('nodes', [], 326);
    const headers = { accept: `${PROTOBUF}, */*` };
    const answer = await sendRequest(`${url}/api/v1/services?resourceVersion=0`, { headers });
    expect(answer.headers['content-type']).toBe(PROTOBUF);
    expect(answer.body.equals(fixture('services.list.pb'))).toBe(true);
  });

  test('returns only metadata if requested', async () => {
    const { url, server } = await startRestored();
    server.restore('nodes', [], 326);
    const as = 'as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
    const ofType = (type: string) =>
      sendRequest(`${url}/api/v1/services`, { headers: { accept: `${type};${as}` } });
    expect((await ofType(PROTOBUF)).body.equals(fixture('services.list.meta.pb'))).toBe(true);
    const json = await ofType('application/json');
    expect(json.body.equals(fixture('services.list.meta.json'))).toBe(true);
  });

  test('is ordered by namespace and name, whatever the order of creation', async () => {
    const { server, url } = await start();
    for (const [namespace, name] of [
      ['b', 'a'],
      ['a', 'z'],
      ['a', 'b'],
    ] as const) {
      server.create('services', { metadata: { name, namespace } });
    }
    expect(await names(`${url}/api/v1/services`)).toEqual(['b', 'z', 'a']);
  });

  test('of a namespace returns only its objects', async () => {
    const { server, url } = await start();
    server.create('services', { metadata: { name: 'here', namespace: 'a' } });
    server.create('services', { metadata: { name: 'there', namespace: 'b' } });
    expect(await names(`${url}/api/v1/namespaces/a/services`)).toEqual(['here']);
  });

  test('has the version of the last write to any collection', async () => {
    const { server, url } = await start({ initialResourceVersion: 100 });
    server.create('nodes', node('edge-1'));
    server.create('services', service('web'));
    const { metadata, items } = (await sendRequest(`${url}/api/v1/nodes`)).json();
    expect(metadata.resourceVersion).toBe('102');
    expect(items[0].metadata.resourceVersion).toBe('101');
  });

  test.each(['', '0', '2', '2&resourceVersionMatch=NotOlderThan'])(
    'from version "%s" returns the newest state',
    async (version) => {
      const { server, url } = await start();
      server.create('nodes', node('edge-1'));
      server.create('nodes', node('edge-2'));
      expect(await names(`${url}/api/v1/nodes?resourceVersion=${version}`)).toHaveLength(2);
    },
  );

  test('of exactly an older version returns the state of that time', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1', { site: 'a' }));
    server.create('nodes', node('edge-2'));
    const { resourceVersion } = server;
    server.label('edge-1', 'site', 'b');
    server.label('edge-1', 'site', 'c');
    server.delete('nodes', 'edge-2');
    server.create('nodes', node('edge-3'));
    const query = `resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`;
    const list = (await sendRequest(`${url}/api/v1/nodes?${query}`)).json();
    expect(list.metadata.resourceVersion).toBe(String(resourceVersion));
    expect(list.items.map((each: { metadata: object }) => each.metadata)).toMatchObject([
      { name: 'edge-1', labels: { site: 'a' } },
      { name: 'edge-2' },
    ]);
  });

  test('of exactly a compacted version has expired', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1'));
    server.compact();
    const query = 'resourceVersion=1&resourceVersionMatch=Exact';
    const answer = await sendRequest(`${url}/api/v1/nodes?${query}`);
    expect([answer.status, answer.json().reason]).toEqual([410, 'Expired']);
  });

  test.each(['nodes?resourceVersion=99999999', 'nodes/edge-1?resourceVersion=99999999'])(
    'GET %s, a version that does not exist yet, is refused as by a real API server',
    async (path) => {
      const { server, url } = await start({ initialResourceVersion: 328 });
      server.create('nodes', node('edge-1'));
      const answer = await sendRequest(`${url}/api/v1/${path}`);
      expect(answer.status).toBe(504);
      expect(answer.headers['retry-after']).toBe('1');
      expect(answer.body.equals(fixture('status.too-large-rv.json'))).toBe(true);
    },
  );

  test('with a limit is sent in chunks of the same version', async () => {
    const { server, url } = await start();
    for (const name of ['a', 'b', 'c', 'd', 'e']) server.create('nodes', node(name));
    const first = (await sendRequest(`${url}/api/v1/nodes?limit=2`)).json();
    expect(first.metadata).toMatchObject({ resourceVersion: '6', remainingItemCount: 3 });
    server.delete('nodes', 'd');
    server.create('nodes', node('f'));
    const rest = `limit=3&continue=${encodeURIComponent(first.metadata.continue)}`;
    const second = (await sendRequest(`${url}/api/v1/nodes?${rest}`)).json();
    expect(second.metadata).toEqual({ resourceVersion: '6' });
    const all = [...first.items, ...second.items];
    expect(all.map((item) => item.metadata.name)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('at version 0 ignores a limit', async () => {
    const { server, url } = await start();
    for (const name of ['a', 'b', 'c']) server.create('nodes', node(name));
    const list = (await sendRequest(`${url}/api/v1/nodes?limit=1&resourceVersion=0`)).json();
    expect([list.items.length, list.metadata.continue]).toEqual([3, undefined]);
  });

  test('a continue token of a compacted version has expired', async () => {
    const { server, url } = await start();
    for (const name of ['a', 'b']) server.create('nodes', node(name));
    const token = (await sendRequest(`${url}/api/v1/nodes?limit=1`)).json().metadata.continue;
    server.create('nodes', node('c'));
    server.compact();
    const answer = await sendRequest(`${url}/api/v1/nodes?limit=1&continue=${token}`);
    expect([answer.status, answer.json().reason]).toEqual([410, 'Expired']);
  });

  test.each([
    ['resourceVersion=abc', 400, 'BadRequest'],
    ['limit=x', 400, 'BadRequest'],
    ['continue=%7E', 400, 'BadRequest'],
    ['resourceVersionMatch=Exact', 422, 'Invalid'],
    ['resourceVersionMatch=Exact&resourceVersion=0', 422, 'Invalid'],
    ['resourceVersionMatch=Newest&resourceVersion=1', 422, 'Invalid'],
    ['sendInitialEvents=true', 422, 'Invalid'],
  ])('with %s is refused', async (query, status, reason) => {
    const { url } = await start();
    const answer = await sendRequest(`${url}/api/v1/nodes?${query}`);
    expect([answer.status, answer.json().reason]).toEqual([status, reason]);
  });

  test('above 128 KB is compressed if the client accepts it', async () => {
    const { server, url } = await start();
    const addresses = Array.from({ length: 250 }, (_, n) => `10.0.0.${n}`);
    for (let n = 0; n < 30; n++)
      server.create('endpointslices', slice(`web-${n}`, 'web', addresses));
    const path = `${url}/apis/discovery.k8s.io/v1/endpointslices`;
    const plain = await sendRequest(path);
    const packed = await sendRequest(path, { headers: { 'accept-encoding': 'gzip' } });
    expect(plain.body.length).toBeGreaterThan(128 * 1024);
    expect([plain.headers['content-encoding'], packed.headers['content-encoding']]).toEqual([
      undefined,
      'gzip',
    ]);
    expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
  });

  test('below 128 KB is never compressed', async () => {
    const { url } = await start();
    const answer = await sendRequest(`${url}/api/v1/nodes`, {
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(answer.headers['content-encoding']).toBeUndefined();
  });
});
