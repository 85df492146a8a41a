import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../embedded/api-server.ts';
import { kubeconfigFor } from '../../embedded/kubeconfig.ts';
import { currentKubeProxyQueries } from '../../src/proxy/api/kube-proxy-queries.ts';
import { serializeQueries } from '../../src/proxy/api/query-json.ts';
import { freePorts } from '../e2e/support/free-port.ts';
import { startProcess, type WrapperProcess } from '../support/process/wrapper-process.ts';
import { createSmallCluster, putService, putSlice } from '../support/wrapper/small-cluster.ts';

const NODE = 'edge-1';
const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
/** Number of our versions for each version of the API server. */
const STEP = 1_000_000_000n;

let folder: string;
let server: ApiServer;
let port: number;
let adminPort: number;
let wrapper: WrapperProcess | undefined;
/** The paths of the requests to the neighbour. */
let requested: string[];
let closeNeighbour: () => void;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'neighbour-'));
  server = createSmallCluster();
  putService(server, 'web', ['kubernetes.io/hostname']);
  putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.1', node: NODE }]);
  writeFileSync(join(folder, 'kubeconfig'), kubeconfigFor(await server.listen()));
  [port = 0, adminPort = 0] = await freePorts(2);
  requested = [];
});

afterEach(async () => {
  wrapper?.kill();
  closeNeighbour();
  await server.close();
  rmSync(folder, { recursive: true });
});

/** Starts a server that listens on the admin address before the wrapper does, and shares its port. */
async function startNeighbour(answer: RequestListener): Promise<void> {
  const neighbour = createServer((request, response) => {
    requested.push(request.url ?? '');
    answer(request, response);
  });
  closeNeighbour = () => {
    neighbour.close();
    neighbour.closeAllConnections();
  };
  neighbour.listen({ host: '127.0.0.1', port: adminPort, reusePort: true });
  await once(neighbour, 'listening');
}

async function read(url: string) {
  const response = await fetch(url, { headers: { accept: 'application/json' } });
  const text = await response.text();
  return { status: response.status, text };
}

async function listed(origin: string): Promise<string> {
  const { text } = await read(origin + SLICES);
  return (JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
}

// Regression: the wrapper adopted a version of 31 digits from there, and issued versions that it refused itself.
test.each<[string, RequestListener]>([
  ['reports versions', ({ url = '' }, response) => response.end(poison(url))],
  ['never answers', () => {}],
])('a neighbour that %s does not change which versions are issued', async (_name, answer) => {
  await startNeighbour(answer);
  const flags = ['--node-name', NODE, '--kubeconfig', join(folder, 'kubeconfig')];
  flags.push(
    '--listen',
    `127.0.0.1:${port}`,
    '--admin-listen',
    `127.0.0.1:${adminPort}`,
    '--handover-seconds',
    '1',
  );
  wrapper = startProcess(flags);
  await wrapper.logged('listening');
  const origin = `http://127.0.0.1:${port}`;
  const version = await listed(origin);
  expect(BigInt(version) / STEP).toBe(BigInt(server.resourceVersion));
  const watch = (from: string) =>
    read(`${origin}${SLICES}?watch=1&timeoutSeconds=1&resourceVersion=${from}`);
  expect((await watch(version)).status).toBe(200);
  expect((await watch('9'.repeat(31))).status).toBe(410);
  expect(requested.toSorted()).toEqual(['/version', '/views']);
});

/** Versions of 31 digits in every place where this or an earlier release could read them. */
function poison(path: string): string {
  const version = '9'.repeat(31);
  const queries = JSON.parse(serializeQueries(currentKubeProxyQueries(NODE))) as object[];
  if (path === '/views') return JSON.stringify(queries.map((query) => ({ ...query, version })));
  return JSON.stringify({ format: 1, node: NODE, views: [{ query: '', version, digests: {} }] });
}
