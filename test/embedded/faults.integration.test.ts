import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { failure } from '../../embedded/kube-status.ts';
import { open, sendRequest, summarize, watch } from '../support/embedded/embedded-client.ts';
import { node, useApiServer } from '../support/embedded/embedded-server.ts';

const start = useApiServer();

/** Resolves with `undefined` if nothing has arrived within a short time. */
function within<T>(promise: Promise<T>, milliseconds: number): Promise<T | undefined> {
  return Promise.race([promise, sleep(milliseconds, undefined)]);
}

describe('freezeWatches()', () => {
  test('stops open watches and their bookmarks, but not new watches, until the returned function is called', async () => {
    const { server, url } = await start({ bookmarkIntervalMs: 10 });
    const path = `${url}/api/v1/nodes?watch=1&resourceVersion=1`;
    const frozen = await watch(`${path}&allowWatchBookmarks=true`);
    const thaw = server.freezeWatches();
    server.create('nodes', node('edge-1'));
    const next = frozen.next();
    const fresh = await watch(path);
    expect(summarize([await fresh.next()])).toEqual(['ADDED edge-1']);
    expect(await within(next, 40)).toBeUndefined();
    thaw();
    expect(summarize([await next])).toEqual(['ADDED edge-1']);
  });

  test('also delays the end of a watch', async () => {
    const { server, url } = await start();
    const events = await watch(`${url}/api/v1/nodes?watch=1&resourceVersion=1&timeoutSeconds=1`);
    const thaw = server.freezeWatches();
    const end = events.next();
    expect(
      await within(
        end.then(() => 'ended'),
        1100,
      ),
    ).toBeUndefined();
    thaw();
    expect(await end).toBeUndefined();
  });
});

describe('refuse()', () => {
  test.each([
    [401, 'Unauthorized'],
    [403, 'Forbidden'],
    [410, 'Expired'],
    [429, 'TooManyRequests'],
    [500, 'InternalError'],
    [503, 'ServiceUnavailable'],
  ])('answers %d with the Status %s until it is lifted', async (code, reason) => {
    const { server, url } = await start();
    const lift = server.refuse(({ path }) => path === '/api/v1/nodes', code);
    const refused = await sendRequest(`${url}/api/v1/nodes`);
    expect([refused.status, refused.json()]).toMatchObject([
      code,
      { kind: 'Status', reason, code },
    ]);
    expect((await sendRequest(`${url}/api/v1/services`)).status).toBe(200);
    lift();
    expect((await sendRequest(`${url}/api/v1/nodes`)).status).toBe(200);
  });

  test('accepts a whole Status', async () => {
    const { server, url } = await start();
    const { status } = failure(422, 'Invalid', 'no streaming lists here');
    server.refuse(({ query }) => query.has('sendInitialEvents'), status);
    const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
    const answer = await sendRequest(`${url}/api/v1/nodes?${query}`);
    expect([answer.status, answer.json().message]).toEqual([422, 'no streaming lists here']);
  });
});

describe('hold()', () => {
  test('delays an answer until it is released; the answer has the state of that time', async () => {
    const { server, url } = await start();
    const release = server.hold(({ path }) => path === '/api/v1/nodes');
    const answer = sendRequest(`${url}/api/v1/nodes`);
    expect((await sendRequest(`${url}/api/v1/services`)).status).toBe(200);
    expect(await within(answer, 30)).toBeUndefined();
    server.create('nodes', node('edge-1'));
    release();
    expect((await answer).json().items).toHaveLength(1);
  });

  test('a delayed request whose client has disconnected is not served', async () => {
    const { server, url } = await start();
    const release = server.hold(() => true);
    const abandoned = open(`${url}/api/v1/nodes?watch=1`, { signal: AbortSignal.timeout(30) });
    await expect(abandoned).rejects.toThrow('aborted');
    // The server notices it a moment later.
    await sleep(30);
    release();
    expect((await sendRequest(`${url}/api/v1/nodes`)).status).toBe(200);
    expect(server.openWatches()).toEqual([]);
  });
});

describe('requests and openWatches()', () => {
  test('report each request', async () => {
    const { server, url } = await start();
    const before = Date.now();
    const headers = { accept: 'application/json, */*', authorization: 'Bearer x' };
    await sendRequest(`${url}/api/v1/nodes?labelSelector=site%3Da&limit=5`, { headers });
    expect(server.requests).toHaveLength(1);
    const [request] = server.requests;
    expect(request).toMatchObject({
      method: 'GET',
      path: '/api/v1/nodes',
      accept: 'application/json, */*',
      headers: { authorization: 'Bearer x' },
    });
    expect(Object.fromEntries(request?.query ?? [])).toEqual({
      labelSelector: 'site=a',
      limit: '5',
    });
    expect(request?.at).toBeGreaterThanOrEqual(before);
  });

  test('a watch whose client disconnects is no longer open', async () => {
    const { server, url } = await start();
    const events = await watch(`${url}/api/v1/nodes?watch=1&labelSelector=a`);
    const [seen] = server.openWatches();
    expect([
      seen?.collection,
      seen?.format.encoding,
      seen?.request.query.get('labelSelector'),
    ]).toEqual(['nodes', 'json', 'a']);
    events.close();
    while (server.openWatches().length > 0) await sleep(1);
    server.create('nodes', node('edge-1'));
    expect(server.openWatches()).toEqual([]);
  });
});

describe('authenticate', () => {
  test('accepts clients with the token and answers 401 to all others', async () => {
    let expected = 'first';
    const { url } = await start({ authenticate: (token) => token === expected });
    const status = async (authorization?: string) => {
      const headers = authorization === undefined ? {} : { authorization };
      return (await sendRequest(`${url}/api/v1/nodes`, { headers })).status;
    };
    expect([await status(), await status('Bearer second'), await status('Basic first')]).toEqual([
      401, 401, 401,
    ]);
    expect(await status('Bearer first')).toBe(200);
    expected = 'second';
    expect([await status('Bearer first'), await status('Bearer second')]).toEqual([401, 200]);
  });
});
