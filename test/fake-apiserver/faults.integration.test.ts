import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { type ApiServer, createApiServer } from '../../fake-apiserver/api-server.ts';
import { closedLater } from '../support/closed-later.ts';
import { sendRequest, summarize, watch } from '../support/fake-apiserver/fake-apiserver-client.ts';

/*
 * What tests rely on, and no contract with a real API server can show. Without it they would pass for another reason.
 */

let server: ApiServer;
let nodes: string;

beforeEach(async () => {
  server = closedLater(createApiServer({ bookmarkIntervalMs: 5 }));
  nodes = `${await server.listen()}/api/v1/nodes`;
});

const put = (name: string) => server.create('nodes', { metadata: { name } });

test('freezeWatches() stops open watches, their bookmarks and their ends, but not new ones', async () => {
  const path = `${nodes}?watch=1&resourceVersion=1`;
  const frozen = await watch(`${path}&timeoutSeconds=1`);
  const thaw = server.freezeWatches();
  put('edge-1');
  const next = frozen.next();
  expect(summarize([await (await watch(path)).next()])).toEqual(['ADDED edge-1']);
  expect(await Promise.race([next, sleep(1_100, 'nothing')])).toBe('nothing');
  thaw();
  expect(summarize([await next, await frozen.next()])).toEqual(['ADDED edge-1', 'end']);
});

test('authenticate() decides which tokens are accepted', async () => {
  const strict = closedLater(createApiServer({ authenticate: (token) => token === 'right' }));
  const url = `${await strict.listen()}/api/v1/nodes`;
  const statuses = ['Bearer right', 'Bearer wrong', 'Basic right', ''].map(
    async (authorization) => {
      return (await sendRequest(url, { headers: { authorization } })).status;
    },
  );
  expect(await Promise.all(statuses)).toEqual([200, 401, 401, 401]);
});

describe('a watch', () => {
  test('from a compacted version is HTTP 410 if the server is set to do so', async () => {
    put('edge-1');
    server.compact('status');
    const answer = await sendRequest(`${nodes}?watch=1&resourceVersion=1`);
    expect([answer.status, answer.json().reason]).toEqual([410, 'Expired']);
  });

  test('from above the newest version sends nothing up to that version, as an API server does', async () => {
    const events = await watch(`${nodes}?watch=1&resourceVersion=3&allowWatchBookmarks=true`);
    // Time for bookmarks, which would set the client back to an older version.
    await sleep(25);
    for (const name of ['a', 'b', 'c']) put(name);
    expect(summarize([await events.next()])).toEqual(['ADDED c']);
  });
});

describe('close()', () => {
  test('is an outage: listen() serves the same objects and their history on the same port', async () => {
    put('edge-1');
    await server.close();
    await expect(sendRequest(nodes)).rejects.toThrow('ECONNREFUSED');
    server.label('edge-1', 'site', 'a');
    await server.listen(Number(new URL(nodes).port));
    const events = await watch(`${nodes}?watch=1&resourceVersion=2`);
    expect(summarize([await events.next()])).toEqual(['MODIFIED edge-1']);
  });

  test('leaves no connection open, even if its client never reads or sends anything', async () => {
    const socket = connect(Number(new URL(nodes).port), '127.0.0.1');
    await once(socket, 'connect');
    const closed = once(socket, 'close');
    await server.close();
    socket.resume();
    await closed;
    expect(socket.destroyed).toBe(true);
  });
});
