import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { sendRequest } from '../support/embedded/embedded-client.ts';
import { node, useApiServer } from '../support/embedded/embedded-server.ts';

const start = useApiServer();

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const fixture = (name: string) => readFileSync(new URL(`../fixtures/${name}`, import.meta.url));

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
});
