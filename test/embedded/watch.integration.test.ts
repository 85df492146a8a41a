import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import {
  protobufFrames,
  sendRequest,
  summarize,
  watch,
} from '../support/embedded/embedded-client.ts';
import { node, service, slice, useApiServer } from '../support/embedded/embedded-server.ts';

const start = useApiServer();

const fixture = (name: string) => readFileSync(new URL(`../fixtures/${name}`, import.meta.url));

describe('WATCH', () => {
  test('continues after a version: sends the changes since then, and then new ones', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1'));
    const from = server.resourceVersion;
    server.create('nodes', node('edge-2'));
    server.label('edge-1', 'site', 'a');
    const events = await watch(`${url}/api/v1/nodes?watch=1&resourceVersion=${from}`);
    expect(events.contentType).toBe('application/json');
    expect(summarize([await events.next(), await events.next()])).toEqual([
      'ADDED edge-2',
      'MODIFIED edge-1',
    ]);
    server.delete('nodes', 'edge-2');
    const deleted = await events.next();
    expect(summarize([deleted])).toEqual(['DELETED edge-2']);
    expect(deleted?.object.metadata.resourceVersion).toBe(String(server.resourceVersion));
    expect(deleted?.object).toMatchObject({ kind: 'Node', apiVersion: 'v1' });
  });

  test.each(['', '&resourceVersion=', '&resourceVersion=0'])(
    'from "%s" begins with ADDED for all objects',
    async (version) => {
      const { server, url } = await start();
      server.create('nodes', node('b'));
      server.create('nodes', node('a'));
      const events = await watch(`${url}/api/v1/nodes?watch=true${version}`);
      expect(summarize([await events.next(), await events.next()])).toEqual(['ADDED a', 'ADDED b']);
      server.create('nodes', node('c'));
      expect(summarize([await events.next()])).toEqual(['ADDED c']);
    },
  );

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

  test.each([
    ['services', '/api/v1/services'],
    ['endpoints', '/api/v1/endpoints'],
    ['endpointslices', '/apis/discovery.k8s.io/v1/endpointslices'],
  ])('a bookmark of %s has the bytes of a real one', async (collection, path) => {
    const real = fixture(`${collection}.watch.json`).toString().trim().split('\n').at(-1) ?? '';
    const version = JSON.parse(real).object.metadata.resourceVersion;
    const { url } = await start({ initialResourceVersion: Number(version) });
    const query = `watch=1&resourceVersion=${version}&timeoutSeconds=1&allowWatchBookmarks=true`;
    const [json, protobuf] = await Promise.all([
      sendRequest(`${url}${path}?${query}`),
      sendRequest(`${url}${path}?${query}`, {
        headers: { accept: 'application/vnd.kubernetes.protobuf' },
      }),
    ]);
    expect(json.body.toString()).toBe(`${real}\n`);
    expect(protobuf.headers['content-type']).toBe(
      'application/vnd.kubernetes.protobuf;stream=watch',
    );
    const frames = protobufFrames(fixture(`${collection}.watch.pb`));
    expect(protobuf.body.equals(frames.at(-1)?.frame ?? Buffer.alloc(0))).toBe(true);
  });

  test('from a compacted version begins with an ERROR event 410 and ends', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1'));
    server.compact();
    const events = await watch(`${url}/api/v1/nodes?watch=1&resourceVersion=1`);
    expect([events.status, await events.rest()]).toEqual([
      200,
      [
        {
          type: 'ERROR',
          object: {
            kind: 'Status',
            apiVersion: 'v1',
            metadata: {},
            status: 'Failure',
            message: 'too old resource version: 1 (2)',
            reason: 'Expired',
            code: 410,
          },
        },
      ],
    ]);
  });

  test('from a compacted version is HTTP 410 if the server is set to do so', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1'));
    server.compact('status');
    const answer = await sendRequest(`${url}/api/v1/nodes?watch=1&resourceVersion=1`);
    expect([answer.status, answer.json().reason]).toEqual([410, 'Expired']);
  });

  test('from the newest version continues after a compaction', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1'));
    server.compact();
    const events = await watch(`${url}/api/v1/nodes?watch=1&resourceVersion=2`);
    server.create('nodes', node('edge-2'));
    expect(summarize([await events.next()])).toEqual(['ADDED edge-2']);
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

  test.each([
    ['sendInitialEvents=true', 422],
    ['sendInitialEvents=true&resourceVersionMatch=Exact', 422],
    ['resourceVersionMatch=NotOlderThan', 422],
    ['timeoutSeconds=soon', 400],
    ['labelSelector=a%20b', 400],
    ['resourceVersion=abc', 500],
  ])('with %s is refused: %d', async (query, status) => {
    const { url } = await start();
    const answer = await sendRequest(`${url}/api/v1/nodes?watch=1&${query}`);
    expect([answer.status, answer.json().kind]).toEqual([status, 'Status']);
  });

  test('sends the same events in protobuf as in JSON', async () => {
    const { server, url } = await start();
    const path = `${url}/apis/discovery.k8s.io/v1/endpointslices`;
    server.create('endpointslices', slice('web-1', 'web', ['10.0.0.1']));
    const query = 'watch=1&resourceVersion=0&timeoutSeconds=1&allowWatchBookmarks=true';
    const headers = { accept: 'application/vnd.kubernetes.protobuf, */*' };
    const answer = await sendRequest(`${path}?${query}`, { headers });
    expect(protobufFrames(answer.body).map(({ type, kind }) => `${type} ${kind}`)).toEqual([
      'ADDED EndpointSlice',
      'BOOKMARK EndpointSlice',
      'BOOKMARK EndpointSlice',
    ]);
  });
});

describe('WATCH with a selector', () => {
  test('sends DELETED, with the new version, for an object that leaves the selection', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1', { site: 'a' }));
    const { resourceVersion } = server;
    const query = `watch=1&resourceVersion=${resourceVersion}&labelSelector=site%3Da`;
    const events = await watch(`${url}/api/v1/nodes?${query}`);
    server.label('edge-1', 'site', 'b');
    const left = await events.next();
    expect(left).toMatchObject({
      type: 'DELETED',
      object: { metadata: { labels: { site: 'a' }, resourceVersion: String(resourceVersion + 1) } },
    });
    server.label('edge-1', 'zone', 'z1');
    server.label('edge-1', 'site', 'a');
    const entered = await events.next();
    expect(entered).toMatchObject({
      type: 'ADDED',
      object: { metadata: { resourceVersion: String(resourceVersion + 3) } },
    });
    server.delete('nodes', 'edge-1');
    expect(summarize([await events.next()])).toEqual(['DELETED edge-1']);
  });

  test('sends nothing about objects that never matched', async () => {
    const { server, url } = await start();
    const query = 'watch=1&resourceVersion=1&fieldSelector=metadata.name%3Dedge-1';
    const events = await watch(`${url}/api/v1/nodes?${query}`);
    server.create('nodes', node('edge-2'));
    server.delete('nodes', 'edge-2');
    server.create('nodes', node('edge-1'));
    expect(summarize([await events.next()])).toEqual(['ADDED edge-1']);
  });

  test('replays the history as a watcher of the selection would have seen it', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1', { site: 'a' }));
    server.label('edge-1', 'site', 'b');
    server.label('edge-1', 'site', 'a');
    const events = await watch(
      `${url}/api/v1/nodes?watch=1&resourceVersion=1&labelSelector=site%3Da`,
    );
    const seen = [await events.next(), await events.next(), await events.next()];
    expect(summarize(seen)).toEqual(['ADDED edge-1', 'DELETED edge-1', 'ADDED edge-1']);
  });
});
