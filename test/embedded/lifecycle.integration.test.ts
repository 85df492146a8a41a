import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { sendRequest, summarize, watch } from '../support/embedded/embedded-client.ts';
import { node, useApiServer } from '../support/embedded/embedded-server.ts';

const start = useApiServer();

describe('close()', () => {
  test('ends watches between two events', async () => {
    const { server, url } = await start();
    const events = await watch(`${url}/api/v1/nodes?watch=1&resourceVersion=1`);
    server.create('nodes', node('edge-1'));
    const closed = server.close();
    expect(summarize([await events.next(), await events.next()])).toEqual(['ADDED edge-1', 'end']);
    await closed;
  });

  test('answers delayed requests', async () => {
    const { server, url } = await start();
    server.hold(() => true);
    const answers = Promise.all([
      sendRequest(`${url}/api/v1/nodes`),
      sendRequest(`${url}/api/v1/nodes?watch=1`),
    ]);
    while (server.requests.length < 2) await new Promise(setImmediate);
    await server.close();
    expect((await answers).map(({ status }) => status)).toEqual([200, 200]);
  });

  test('leaves no connection open, even if its client never reads or sends anything', async () => {
    const { server, url } = await start();
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    await once(socket, 'connect');
    const closed = once(socket, 'close');
    await server.close();
    socket.resume();
    await closed;
    expect(socket.destroyed).toBe(true);
  });
});

describe('listen()', () => {
  test('after close() serves the same objects again, on the same port if requested', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1'));
    await server.close();
    await expect(sendRequest(`${url}/api/v1/nodes`)).rejects.toThrow('ECONNREFUSED');
    server.label('edge-1', 'site', 'a');
    expect(await server.listen(Number(new URL(url).port))).toBe(url);
    const events = await watch(`${url}/api/v1/nodes?watch=1&resourceVersion=2`);
    expect(summarize([await events.next()])).toEqual(['MODIFIED edge-1']);
  });

  test('answers health checks and discovery', async () => {
    const { url } = await start();
    expect((await sendRequest(`${url}/readyz`)).body.toString()).toBe('ok');
    expect((await sendRequest(`${url}/version`)).json().major).toBe('1');
    const { groups } = (await sendRequest(`${url}/apis`)).json();
    const names = groups.map((group: { name: string }) => group.name);
    expect(names.sort()).toEqual([
      'discovery.k8s.io',
      'events.k8s.io',
      'fabedge.io',
      'networking.k8s.io',
    ]);
    const { resources } = (await sendRequest(`${url}/apis/discovery.k8s.io/v1`)).json();
    expect(resources).toMatchObject([
      { name: 'endpointslices', kind: 'EndpointSlice', namespaced: true },
    ]);
  });
});
