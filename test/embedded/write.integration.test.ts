import { describe, expect, test } from '@jest/globals';
import { sendRequest } from '../support/embedded/embedded-client.ts';
import { node, useApiServer } from '../support/embedded/embedded-server.ts';

const start = useApiServer();

const SERVICES = '/api/v1/namespaces/default/services';
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';
const MERGE_PATCH = 'application/merge-patch+json';

/** Sends a JSON body. */
function send(method: string, url: string, body: unknown, type = 'application/json') {
  return sendRequest(url, {
    method,
    headers: { 'content-type': type },
    body: JSON.stringify(body),
  });
}

describe('writes over HTTP', () => {
  test('POST, PATCH, PUT and DELETE create, change, replace and delete an object', async () => {
    const { server, url } = await start();
    const created = await send('POST', url + SERVICES, { metadata: { name: 'web' }, spec: {} });
    expect([created.status, created.json().kind]).toEqual([201, 'Service']);
    const patched = await send(
      'PATCH',
      `${url + SERVICES}/web`,
      { metadata: { annotations: { a: 'b' } } },
      MERGE_PATCH,
    );
    expect([patched.status, patched.json().metadata.annotations]).toEqual([200, { a: 'b' }]);
    const { metadata, spec } = patched.json();
    const put = await send('PUT', `${url + SERVICES}/web`, {
      metadata: { ...metadata, annotations: {} },
      spec,
    });
    expect([put.status, put.json().metadata.resourceVersion]).toEqual([200, '4']);
    const deleted = await sendRequest(`${url + SERVICES}/web`, { method: 'DELETE' });
    expect([deleted.status, deleted.json().kind]).toEqual([200, 'Service']);
    expect(server.list('services')).toEqual([]);
  });

  test('DELETE of an object other than a Service answers with a Status', async () => {
    const { server, url } = await start();
    const { uid } = server.create('nodes', node('edge-1')).metadata;
    const deleted = (await sendRequest(`${url}/api/v1/nodes/edge-1`, { method: 'DELETE' })).json();
    expect(deleted).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'edge-1', kind: 'nodes', uid },
    });
  });

  test('a strategic merge patch is applied as a merge patch, and the path `status` is the object', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1'));
    const type = 'application/strategic-merge-patch+json';
    const patch = { status: { phase: 'Running' } };
    const answer = await send('PATCH', `${url}/api/v1/nodes/edge-1/status`, patch, type);
    expect([answer.status, answer.json().status.phase]).toEqual([200, 'Running']);
  });

  test('an Event in protobuf is accepted and returned unchanged', async () => {
    const { url } = await start();
    const body = Buffer.from('6b387300010203', 'hex');
    const type = 'application/vnd.kubernetes.protobuf';
    const answer = await sendRequest(url + EVENTS, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    });
    expect([answer.status, answer.headers['content-type']]).toEqual([201, type]);
    expect(answer.body.equals(body)).toBe(true);
  });

  test('Events in JSON are kept, a thousand of them, in both of their groups', async () => {
    const { server, url } = await start();
    for (let n = 0; n < 1000; n++) server.create('events', { metadata: { name: `e${n}` } });
    const core = await send('POST', `${url}/api/v1/namespaces/default/events`, {
      metadata: { generateName: 'last-' },
    });
    expect([core.status, core.json().metadata.name]).toEqual([
      201,
      expect.stringMatching(/^last-.{5}$/),
    ]);
    const events = server.list('events');
    expect([events.length, server.get('events', 'e0'), server.get('events', 'e1')?.kind]).toEqual([
      1000,
      undefined,
      'Event',
    ]);
    expect((await send('POST', url + EVENTS, { metadata: { name: 'new' } })).status).toBe(201);
    expect(server.get('events.events.k8s.io', 'new')?.apiVersion).toBe('events.k8s.io/v1');
  });

  test.each([
    ['POST', `${SLICES}/x`, {}, 405],
    ['POST', '/api/v1/services', {}, 405],
    ['PUT', SERVICES, {}, 405],
    ['DELETE', SERVICES, {}, 405],
    ['POST', '/readyz', {}, 405],
    ['POST', SERVICES, { kind: 'Node', metadata: { name: 'web' } }, 400],
    ['POST', SERVICES, { metadata: { name: 'web', namespace: 'other' } }, 400],
    ['PUT', `${SERVICES}/web`, { metadata: { name: 'other' } }, 400],
    ['POST', SERVICES, [], 400],
    ['POST', SERVICES, { metadata: {} }, 422],
  ])('%s %s of %j is refused: %d', async (method, path, body, status) => {
    const { server, url } = await start();
    const answer = await send(method, url + path, body);
    expect([answer.status, answer.json().kind]).toEqual([status, 'Status']);
    expect(server.resourceVersion).toBe(1);
  });

  test.each([
    ['POST', SERVICES, 'text/plain'],
    ['POST', SERVICES, 'application/vnd.kubernetes.protobuf'],
    ['PATCH', `${SERVICES}/web`, 'application/json-patch+json'],
    ['PATCH', `${SERVICES}/web`, 'application/json'],
  ])('%s %s in %s is refused: 415', async (method, path, type) => {
    const { url } = await start();
    expect((await send(method, url + path, {}, type)).status).toBe(415);
  });

  test('a body above 3 MiB is refused: 413', async () => {
    const { url } = await start();
    const answer = await send('POST', url + SERVICES, { text: 'x'.repeat(3 * 1024 * 1024) });
    expect([answer.status, answer.json().reason]).toEqual([413, 'RequestEntityTooLarge']);
  });
});
