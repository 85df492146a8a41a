import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { sendRequest, summarize, watch } from '../support/embedded/embedded-client.ts';
import { node, service, useApiServer } from '../support/embedded/embedded-server.ts';

const start = useApiServer();

describe('WATCH', () => {
  test('ends after timeoutSeconds with a final bookmark', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1'));
    const query = 'watch=1&resourceVersion=1&timeoutSeconds=1&allowWatchBookmarks=true';
    const events = await (await watch(`${url}/api/v1/nodes?${query}`)).rest();
    expect(summarize(events)).toEqual(['ADDED edge-1', 'BOOKMARK']);
    expect(events[1]?.object.metadata).toEqual({ resourceVersion: '2' });
    expect(server.openWatches()).toEqual([]);
  });

  test('sends bookmarks of the newest version at the interval, but only if requested', async () => {
    const { server, url } = await start({ bookmarkIntervalMs: 15 });
    const path = `${url}/api/v1/nodes?watch=1&resourceVersion=1`;
    const without = await watch(path);
    const events = await watch(`${path}&allowWatchBookmarks=true`);
    expect((await events.next())?.object.metadata.resourceVersion).toBe('1');
    server.create('services', service('web'));
    expect((await events.next())?.object).toMatchObject({ metadata: { resourceVersion: '2' } });
    server.create('nodes', node('edge-1'));
    expect(summarize([await without.next()])).toEqual(['ADDED edge-1']);
  });

  test('from a compacted version is HTTP 410 if the server is set to do so', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1'));
    server.compact('status');
    const answer = await sendRequest(`${url}/api/v1/nodes?watch=1&resourceVersion=1`);
    expect([answer.status, answer.json().reason]).toEqual([410, 'Expired']);
  });

  test('from a version before the window has expired, but from the edge of the window continues', async () => {
    const { server, url } = await start({ windowSize: 2 });
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) server.create('nodes', node(name));
    const from = (version: number) =>
      watch(`${url}/api/v1/nodes?watch=1&resourceVersion=${version}`);
    expect(summarize([await (await from(4)).next()])).toEqual(['ERROR 410']);
    const events = await from(5);
    expect(summarize([await events.next(), await events.next()])).toEqual(['ADDED e', 'ADDED f']);
  });

  test('from above the newest version sends nothing up to that version, as an API server does', async () => {
    const { server, url } = await start({ bookmarkIntervalMs: 5 });
    const query = 'watch=1&resourceVersion=3&allowWatchBookmarks=true';
    const events = await watch(`${url}/api/v1/nodes?${query}`);
    // Time for bookmarks, which would set the client back to an older version.
    await sleep(25);
    for (const name of ['a', 'b', 'c']) server.create('nodes', node(name));
    expect(summarize([await events.next()])).toEqual(['ADDED c']);
  });
});
