import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type HttpsSite, startHttpsSite } from '../../../harness/versions/https-site.ts';
import { ensurePythonClient } from '../../../harness/versions/python.ts';
import { type SliceClient, startSliceClient } from '../../../harness/versions/slice-client.ts';

/* The Kubernetes clients for Node.js and Python read EndpointSlices over https, with a ServiceAccount's token. */

jest.setTimeout(120_000);

const CLIENTS = join(import.meta.dirname, 'clients');
const [NEAR, FAR] = ['10.244.1.5', '10.244.1.6'];

const commands = {
  'Node.js': async () => [process.execPath, join(CLIENTS, 'watch-slices.ts')],
  Python: async () => [await ensurePythonClient(), join(CLIENTS, 'watch_slices.py')],
};

let site: HttpsSite;

beforeAll(async () => {
  site = await startHttpsSite('clients');
});

afterAll(async () => {
  await site?.stop();
});

/** Starts the client at this server and runs the test with it. */
async function withClient(
  language: keyof typeof commands,
  server: 'wrapper' | 'API server',
  run: (client: SliceClient) => Promise<void>,
): Promise<void> {
  const command = await commands[language]();
  const args = [...command, site.kubeconfig(server), site.namespace];
  const client = startSliceClient(site.node.netns, `${language}-${server.at(0)}`, args);
  try {
    await run(client);
  } finally {
    await client.stop();
    await site.moveTo('a');
  }
}

test.each(['Node.js', 'Python'] as const)(
  'the client for %s has the endpoints of the site, and follows a relabel of its node',
  async (language) => {
    const since = Date.now();
    await withClient(language, 'wrapper', async (client) => {
      await client.sees({ local: [NEAR], plain: [NEAR, FAR] });
      await site.moveTo('b');
      await client.sees({ local: [FAR], plain: [NEAR, FAR] });
      await site.moveTo(null);
      await client.sees({ local: [], plain: [NEAR, FAR] });
    });
    const { user } = site;
    for (const verb of ['list', 'watch']) {
      expect(site.plane.requests({ user, verb, since })).toEqual([]);
    }
  },
);

test.each(['Node.js', 'Python'] as const)(
  'the client for %s has all endpoints from the API server itself',
  async (language) => {
    await withClient(language, 'API server', async (client) => {
      await client.sees({ local: [NEAR, FAR], plain: [NEAR, FAR] });
    });
  },
);
