import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import type { SeenRequest } from '../../fake-apiserver/faults.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { createSmallCluster, putService, putSlice } from '../support/wrapper/small-cluster.ts';
import { startWrapper } from '../support/wrapper/wrapper-fixture.ts';
import { budget, FUZZ_TIMEOUT_MS } from './budget.ts';
import { mutate, mutations } from './mutate.ts';

/** Texts that no response may contain: an endpoint hidden from this node, and the body of refused requests. */
const HIDDEN = ['10.0.0.2', 'not-for-anybody'];
const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const CIDRS = '/apis/networking.k8s.io/v1/servicecidrs';

const VIEW =
  /^\/(api\/v1|apis\/discovery\.k8s\.io\/v1)(\/namespaces\/[^/]+)?\/(services|endpoints|endpointslices|nodes)$/;

let server: ApiServer;
let proxy: NodeProxy;

/** Whether the wrapper may send this request to the API server, for itself or for a loopback client. */
function isGranted({ method, path }: Pick<SeenRequest, 'method' | 'path'>): boolean {
  return method === 'GET' && (path === '/version' || path === CIDRS || VIEW.test(path));
}

beforeAll(async () => {
  server = createSmallCluster();
  putService(server, 'web', ['kubernetes.io/hostname']);
  putSlice(server, 'web-a', 'web', [
    { ip: '10.0.0.1', node: 'edge-1' },
    { ip: HIDDEN[0] ?? '', node: 'edge-2' },
  ]);
  server.refuse((request) => !isGranted(request), {
    metadata: {},
    status: 'Failure',
    code: 403,
    reason: 'Forbidden',
    message: HIDDEN[1] ?? '',
  });
  // With fewer views, some requests would wait until others are closed.
  proxy = await startWrapper(await server.listen(), { maxViews: 1000 });
});

afterAll(async () => {
  await proxy.close();
  await server.close();
});

/** How long to wait, in milliseconds, for the first byte of a response and then for each further chunk. */
interface ReadTimeouts {
  readonly firstMs: number;
  readonly nextMs: number;
}

/** For random requests: many are incomplete and get no response, and a watch does not end. */
const RESPONSE_OPTIONAL: ReadTimeouts = { firstMs: 300, nextMs: 20 };
/** For valid requests: the first response of a process is slow on a busy machine. */
const RESPONSE_EXPECTED: ReadTimeouts = { firstMs: 10_000, nextMs: 1_000 };

/** Sends bytes and returns everything received until the connection ends or a timeout passes. */
async function exchange(bytes: Buffer, { firstMs, nextMs }: ReadTimeouts): Promise<string> {
  const { hostname, port } = new URL(proxy.url);
  return await new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    let text = '';
    const finish = () => {
      clearTimeout(quiet);
      socket.destroy();
      resolve(text);
    };
    let quiet = setTimeout(finish, firstMs);
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      clearTimeout(quiet);
      quiet = setTimeout(finish, nextMs);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') reject(error);
      else finish();
    });
    socket.once('close', finish);
    socket.write(bytes);
  });
}

async function expectSafe(bytes: Buffer): Promise<void> {
  const answer = await exchange(bytes, RESPONSE_OPTIONAL);
  if (answer !== '') expect(answer).toMatch(/^HTTP\/1\.1 [1-5][0-9][0-9] /);
  for (const hidden of HIDDEN) expect(answer).not.toContain(hidden);
}

async function expectAlive(): Promise<void> {
  const answer = await exchange(
    Buffer.from(`GET ${SLICES} HTTP/1.1\r\nhost: ${new URL(proxy.url).host}\r\n\r\n`),
    RESPONSE_EXPECTED,
  );
  expect(answer).toContain('10.0.0.1');
}

/** A request without a response in time may have been forwarded too. */
function expectOnlyGrantedRequests(): void {
  const others = server.requests.filter((request) => !isGranted(request));
  expect(others.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
}

const queries = fc.constantFrom(
  '',
  '?watch=1',
  '?watch=true&resourceVersion=0',
  '?limit=1',
  '?resourceVersion=99999999999999',
  '?labelSelector=!a',
  '?fieldSelector=metadata.name=web-a',
  '?continue=x',
  '?watch=1&watch=0',
  '?watch=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1',
);
const PATHS = [
  SLICES,
  '/api/v1/services',
  '/api/v1/endpoints',
  '/api/v1/nodes',
  '/api/v1/secrets',
  '*',
  '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-a',
  '//api/v1/services',
  '/api/v1/watch/endpointslices',
  `/x/..${SLICES}`,
  `http://10.0.0.9${SLICES}`,
  `/%2e${SLICES}`,
];
const headers = fc.array(
  fc.oneof(
    fc.constantFrom(
      'content-length: 5',
      'content-length: 0',
      'transfer-encoding: chunked',
      'expect: 100-continue',
      'connection: upgrade',
      'upgrade: SPDY/3.1',
      'accept: application/json',
      'accept: text/html',
      'impersonate-user: admin',
      'x-remote-user: admin',
      'accept-encoding: gzip',
      'host: evil',
    ),
    fc.string({ maxLength: 20 }),
  ),
  { maxLength: 4 },
);

const requests = fc
  .record({
    method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'CONNECT', 'G E T'),
    path: fc.constantFrom(...PATHS),
    query: queries,
    headers,
    body: fc.string({ maxLength: 30 }),
  })
  .map(({ method, path, query, headers: lines, body }) => {
    const { host } = new URL(proxy.url);
    const head = [`${method} ${path}${query} HTTP/1.1`, `host: ${host}`, ...lines];
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1');
  });

describe('the listener answers in HTTP or closes the connection, and reveals nothing that is filtered', () => {
  test(
    'for random bytes',
    async () => {
      const random = fc.uint8Array({ minLength: 1, maxLength: 300 });
      const property = fc.asyncProperty(random, async (bytes) => {
        await expectSafe(Buffer.from(bytes));
      });
      await fc.assert(property, budget);
      await expectAlive();
      expectOnlyGrantedRequests();
    },
    FUZZ_TIMEOUT_MS,
  );

  test(
    'for random and damaged requests',
    async () => {
      const { host } = new URL(proxy.url);
      // Each path once without damage: few of the random requests are complete.
      for (const path of PATHS) {
        await expectSafe(Buffer.from(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`));
      }
      const property = fc.asyncProperty(
        requests,
        fc.option(mutations, { freq: 1 }),
        async (request, damage) => {
          await expectSafe(damage === null ? request : mutate(request, damage));
        },
      );
      await fc.assert(property, budget);
      await expectAlive();
      expectOnlyGrantedRequests();
    },
    FUZZ_TIMEOUT_MS,
  );
});
