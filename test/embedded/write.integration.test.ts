import { describe, expect, test } from '@jest/globals';
import { sendRequest } from '../support/embedded/embedded-client.ts';
import { useApiServer } from '../support/embedded/embedded-server.ts';

const start = useApiServer();

const SERVICES = '/api/v1/namespaces/default/services';
const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';

/** Sends a JSON body. */
function post(url: string, body: unknown) {
  return sendRequest(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

describe('writes over HTTP', () => {
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
    const core = await post(`${url}/api/v1/namespaces/default/events`, {
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
    expect((await post(url + EVENTS, { metadata: { name: 'new' } })).status).toBe(201);
    expect(server.get('events.events.k8s.io', 'new')?.apiVersion).toBe('events.k8s.io/v1');
  });

  test('a body above 3 MiB is refused: 413', async () => {
    const { url } = await start();
    const answer = await post(url + SERVICES, { text: 'x'.repeat(3 * 1024 * 1024) });
    expect([answer.status, answer.json().reason]).toEqual([413, 'RequestEntityTooLarge']);
  });
});
