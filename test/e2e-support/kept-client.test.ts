import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { KeptClient } from '../e2e/faults/recovery/kept-client.ts';
import { eventually } from '../e2e/support/eventually.ts';

// The client of the recovery suite: keeps its state as client-go does, and notices a watch that is wrong.

const cleanups: (() => void)[] = [];

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

interface Seen {
  readonly client: KeptClient;
  readonly broken: string[];
  readonly urls: string[];
}

/** Answers the requests one after the other; the last answer stays open. */
async function follow(answers: readonly RequestListener[], streaming: boolean): Promise<Seen> {
  const urls: string[] = [];
  const server = createServer((request, response) => {
    urls.push(request.url ?? '');
    const next = answers[urls.length - 1];
    if (next === undefined) response.writeHead(200).flushHeaders();
    else next(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const broken: string[] = [];
  const { port } = server.address() as AddressInfo;
  const listener = {
    changed: () => {},
    applied: () => {},
    broken: (what: string) => broken.push(what),
  };
  const client = new KeptClient(`http://127.0.0.1:${port}/x`, { streaming }, listener);
  cleanups.push(() => {
    client.stop();
    server.closeAllConnections();
    server.close();
  });
  void client.run();
  return { client, broken, urls };
}

function object(name: string, resourceVersion: number) {
  return { metadata: { name, resourceVersion: String(resourceVersion) } };
}

function list(resourceVersion: number, names: readonly string[]): RequestListener {
  return (_, response) => {
    const items = names.map((name) => object(name, resourceVersion));
    response.end(JSON.stringify({ metadata: { resourceVersion: `${resourceVersion}` }, items }));
  };
}

type Event = readonly [type: string, object: object];

function watch(events: readonly Event[]): RequestListener {
  return (_, response) => {
    for (const [type, each] of events)
      response.write(`${JSON.stringify({ type, object: each })}\n`);
    response.end();
  };
}

const gone: Event = ['ERROR', { code: 410, metadata: {} }];

test('it resumes from the version of the last event', async () => {
  const { client, urls, broken } = await follow(
    [list(5, ['a']), watch([['ADDED', object('b', 7)]])],
    false,
  );
  await eventually(
    () => urls.length,
    (count) => count === 3,
  );
  expect(urls[1]).toContain('resourceVersion=5');
  expect(urls[2]).toContain('resourceVersion=7');
  expect([...client.objects.keys()]).toEqual(['a', 'b']);
  expect(broken).toEqual([]);
});

test('it lists again after 410 and keeps only what is listed', async () => {
  const { client, urls, broken } = await follow(
    [list(5, ['a', 'b']), watch([gone]), list(9, ['b', 'c'])],
    false,
  );
  await eventually(
    () => urls.length,
    (count) => count === 4,
  );
  expect(urls[2]).not.toContain('watch');
  expect(urls[3]).toContain('resourceVersion=9');
  expect([...client.objects.keys()]).toEqual(['b', 'c']);
  expect(broken).toEqual([]);
});

test('a streaming list counts when its bookmark has come', async () => {
  const { client, urls } = await follow(
    [
      watch([['ADDED', object('a', 3)]]),
      watch([
        ['ADDED', object('a', 3)],
        ['BOOKMARK', object('', 4)],
      ]),
    ],
    true,
  );
  await eventually(
    () => urls.length,
    (count) => count === 3,
  );
  expect(urls[1]).toContain('sendInitialEvents=true');
  expect(urls[2]).toContain('resourceVersion=4');
  expect(client.hasSynced).toBe(true);
});

test.each<[string, Event]>([
  ['an event of a version below the last one', ['MODIFIED', object('a', 4)]],
  ['ADDED of an object that is there', ['ADDED', object('a', 6)]],
  ['MODIFIED of an object that is not there', ['MODIFIED', object('b', 6)]],
  ['DELETED of an object that is not there', ['DELETED', object('b', 6)]],
])('%s is found', async (_, event) => {
  const { broken, urls } = await follow([list(5, ['a']), watch([event])], false);
  await eventually(
    () => urls.length,
    (count) => count === 3,
  );
  expect(broken).toHaveLength(1);
});
