import { describe, expect, test } from '@jest/globals';
import { summarize, watch } from '../support/embedded/embedded-client.ts';
import { node, service, useApiServer } from '../support/embedded/embedded-server.ts';

const start = useApiServer();

const STREAMING_LIST = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';

describe('streaming list', () => {
  test('sends ADDED for all objects, then the bookmark that ends them, then changes', async () => {
    const { server, url } = await start();
    server.create('services', service('web'));
    server.create('services', service('db'));
    const path = `${url}/api/v1/services?allowWatchBookmarks=true&${STREAMING_LIST}`;
    const events = await watch(path);
    const initial = [await events.next(), await events.next(), await events.next()];
    expect(summarize(initial)).toEqual(['ADDED db', 'ADDED web', 'BOOKMARK']);
    expect(initial[2]?.object.metadata).toEqual({
      resourceVersion: '3',
      annotations: { 'k8s.io/initial-events-end': 'true' },
    });
    server.annotate('default/web', 'topologyKeys', '["*"]');
    expect(summarize([await events.next()])).toEqual(['MODIFIED web']);
  });

  test('without bookmarks does not mark the end of the initial events', async () => {
    const { server, url } = await start();
    server.create('services', service('web'));
    const events = await watch(`${url}/api/v1/services?timeoutSeconds=1&${STREAMING_LIST}`);
    expect(summarize(await events.rest())).toEqual(['ADDED web']);
  });

  test('of a version above the newest begins with an ERROR event 504 and ends', async () => {
    const { url } = await start();
    const path = `${url}/api/v1/services?allowWatchBookmarks=true&${STREAMING_LIST}`;
    const events = await (await watch(`${path}&resourceVersion=99`)).rest();
    expect(events).toMatchObject([
      {
        type: 'ERROR',
        object: { code: 504, details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } },
      },
    ]);
  });

  test('sendInitialEvents=false begins at the newest version', async () => {
    const { server, url } = await start();
    server.create('services', service('web'));
    const query = 'watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan';
    const events = await watch(`${url}/api/v1/services?${query}`);
    server.create('services', service('db'));
    expect(summarize([await events.next()])).toEqual(['ADDED db']);
  });

  test('of metadata only has no spec', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1', { site: 'a' }));
    const path = `${url}/api/v1/nodes?allowWatchBookmarks=true&${STREAMING_LIST}`;
    const events = await watch(path, {
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    });
    const added = await events.next();
    expect(Object.keys(added?.object)).toEqual(['kind', 'apiVersion', 'metadata']);
    expect(added?.object).toMatchObject({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { name: 'edge-1', labels: { site: 'a' } },
    });
  });
});
