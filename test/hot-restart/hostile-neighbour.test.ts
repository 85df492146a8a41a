import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { kubeconfigFor } from '../../fake-apiserver/kubeconfig.ts';
import { freePorts } from '../../harness/network/free-port.ts';
import { currentKubeProxyQueries } from '../../src/proxy/api/kube-proxy-queries.ts';
import { serializeQueries } from '../../src/proxy/api/query-json.ts';
import { closedLater } from '../support/closed-later.ts';
import { startProcess } from '../support/process/wrapper-process.ts';
import { useFolder } from '../support/use-folder.ts';
import { useCluster } from '../support/wrapper/use.ts';

const NODE = 'edge-1';
const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
/** Number of our versions for each version of the API server. */
const STEP = 1_000_000_000n;

/** Starts a server that listens on an address before the wrapper does, and shares its port. */
async function startNeighbour(port: number, answer: RequestListener): Promise<readonly string[]> {
  const requested: string[] = [];
  const neighbour = createServer((request, response) => {
    requested.push(request.url ?? '');
    answer(request, response);
  });
  closedLater({
    close: () => {
      neighbour.close();
      neighbour.closeAllConnections();
    },
  });
  neighbour.listen({ host: '127.0.0.1', port, reusePort: true });
  await once(neighbour, 'listening');
  return requested;
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
  ['reports junk', (_, response) => response.end(`[${'{"plural":"secrets"},'.repeat(1_000)}null]`)],
  ['answers without an end', (_, response) => void Readable.from(endless()).pipe(response)],
  ['never answers', () => {}],
])('a neighbour that %s does not change which versions are issued', async (_name, answer) => {
  const server = useCluster();
  const [port, adminPort = 0] = await freePorts(2);
  const requested = await startNeighbour(adminPort, answer);
  const kubeconfig = join(useFolder(), 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor(await server.listen()));
  const flags = ['--node-name', NODE, '--kubeconfig', kubeconfig, '--handover-seconds', '1'];
  flags.push('--listen', `127.0.0.1:${port}`, '--admin-listen', `127.0.0.1:${adminPort}`);
  const wrapper = startProcess(flags);
  closedLater({ close: () => wrapper.kill() });
  await wrapper.logged('listening');
  const origin = `http://127.0.0.1:${port}`;
  const version = await listed(origin);
  expect(BigInt(version) / STEP).toBe(BigInt(server.resourceVersion));
  const watch = (from: string) =>
    read(`${origin}${SLICES}?watch=1&timeoutSeconds=1&resourceVersion=${from}`);
  expect((await watch(version)).status).toBe(200);
  expect((await watch('9'.repeat(31))).status).toBe(410);
  expect(requested).toEqual(['/views']);
});

function* endless(): Generator<string> {
  for (;;) yield 'x'.repeat(65_536);
}

/** Versions of 31 digits in every place where this or an earlier release could read them. */
function poison(path: string): string {
  const version = '9'.repeat(31);
  const queries = JSON.parse(serializeQueries(currentKubeProxyQueries(NODE))) as object[];
  if (path === '/views') return JSON.stringify(queries.map((query) => ({ ...query, version })));
  return JSON.stringify({ format: 1, node: NODE, views: [{ query: '', version, digests: {} }] });
}
