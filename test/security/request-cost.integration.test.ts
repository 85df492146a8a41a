import { Agent, request } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Admin } from '../../src/admin/admin.ts';
import type { Query } from '../../src/client/api/query.ts';
import { sliceSelectionOf } from '../../src/client/api/slice-selection.ts';
import { SnapshotFolder } from '../../src/client/snapshot/snapshot-folder.ts';
import { ENDPOINT_SLICES } from '../../src/filter/objects/resource.ts';
import { FakeCredentials } from '../support/http/credentials.ts';
import { recordingLogger } from '../support/recording-logger.ts';
import { useFolder } from '../support/use-folder.ts';
import { type HttpsWrapper, useHttps } from '../support/wrapper/https-wrapper.ts';
import { useAdmin } from '../support/wrapper/use.ts';

/*
 * Anyone who reaches a port makes the process parse a request. So no input that is read before the caller is
 * authorized may cost more than its length: here four times the length costs at most eight times the CPU. What is
 * quadratic costs sixteen times. Other work on the machine only adds to a figure, so the least of several runs counts.
 */

const HEADER_BYTES = 1024 * 1024;
const LIMITS = {
  maxConnections: 16,
  maxHeaderBytes: HEADER_BYTES,
  headersTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
};
/**
 * Four times this is what maxHeaderBytes allows by default. A quadratic parser then costs more than the rest of a
 * request.
 */
const LENGTH = 4_000;
const REQUESTS = 10;
const RUNS = 7;
const MAX_GROWTH = 8;

let wrapper: HttpsWrapper;
let admin: Admin;
let snapshots: SnapshotFolder;
const plainAgent = new Agent({ keepAlive: true, maxSockets: 1 });
let tlsAgent: TlsAgent;

beforeAll(async () => {
  wrapper = await useHttps({}, { listenerLimits: LIMITS });
  tlsAgent = new TlsAgent({ keepAlive: true, maxSockets: 1, ca: wrapper.ca });
  admin = await useAdmin(wrapper.proxy, LIMITS);
  const credentials = new FakeCredentials(new URL('https://10.0.0.1:6443'));
  snapshots = new SnapshotFolder({
    folder: join(useFolder(), 'state'),
    nodeName: 'edge-1',
    serverAccess: credentials,
    logger: recordingLogger().logger,
    graceMs: 10,
    maxBytes: 1 << 20,
    writeBytesPerSecond: 1e6,
  });
});

afterAll(() => {
  plainAgent.destroy();
  tlsAgent.destroy();
});

/**
 * `parser`: not sent, because the listener refuses a selector of this length before it is parsed. `snapshot`: a view of
 * the path reads and writes its snapshot.
 */
type Target = 'http' | 'https' | 'admin' | 'parser' | 'snapshot';

interface Input {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';

/** Sends a request and reads its response. */
async function send(
  target: Exclude<Target, 'parser' | 'snapshot'>,
  { path = SLICES, headers = {} }: Input,
): Promise<void> {
  const urls = {
    http: wrapper.proxy.url,
    https: `https://127.0.0.1:${wrapper.port}`,
    admin: admin.url,
  };
  const { hostname, port } = new URL(urls[target]);
  const options = { hostname, port, path, headers };
  await new Promise<void>((resolve, reject) => {
    const sent =
      target === 'https'
        ? requestTls({ ...options, agent: tlsAgent })
        : request({ ...options, agent: plainAgent });
    sent.once('response', (response) => response.resume().once('end', resolve));
    sent.once('error', reject).end();
  });
}

function parseSelectors({ path = '' }: Input): void {
  const parameters = new URL(path, 'http://127.0.0.1').searchParams;
  const labelSelector = parameters.get('labelSelector') ?? '';
  const fieldSelector = parameters.get('fieldSelector') ?? '';
  const encoding = 'json';
  const asked = {
    resource: ENDPOINT_SLICES,
    namespace: '',
    labelSelector,
    fieldSelector,
    encoding,
  };
  try {
    sliceSelectionOf(asked as Query);
  } catch (error) {
    expect(error).toMatchObject({ code: 'BadRequest' });
  }
}

/** CPU time of the process for some equal requests, in microseconds. */
async function cost(target: Target, input: Input): Promise<number> {
  const before = process.cpuUsage();
  for (let n = 0; n < REQUESTS; n++) {
    if (target === 'parser') parseSelectors(input);
    else if (target === 'snapshot')
      await snapshots.load(snapshots.writer.open(`protobuf ${input.path}`));
    else await send(target, input);
  }
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

const query = (name: string, value: string): Input => ({
  path: `${SLICES}?${name}=${encodeURIComponent(value)}`,
});
const header = (name: string, value: string): Input => ({ headers: { [name]: value } });

/** Inputs of about this length, by the place where they are. */
const INPUTS: readonly [Target, string, (n: number) => Input][] = [
  ['http', 'segments of a path', (n) => ({ path: `/apis${'/a'.repeat(n / 2)}` })],
  ['http', 'escapes of a path', (n) => ({ path: `/apis/${'%61'.repeat(n / 3)}` })],
  ['http', 'query parameters', (n) => ({ path: `${SLICES}?${'limit=1&'.repeat(n / 8)}` })],
  ['http', 'resourceVersion', (n) => query('resourceVersion', '9'.repeat(n))],
  ['snapshot', 'a namespace', (n) => ({ path: `/api/v1/namespaces/${'a'.repeat(n)}/services` })],
  ['http', 'continue', (n) => query('continue', 'a'.repeat(n))],
  ['parser', 'commas of a labelSelector', (n) => query('labelSelector', ','.repeat(n))],
  ['parser', 'parentheses', (n) => query('labelSelector', '('.repeat(n))],
  ['parser', 'closed parentheses', (n) => query('labelSelector', '),'.repeat(n / 2))],
  ['parser', 'values', (n) => query('labelSelector', `a in (${'b,'.repeat(n / 2 - 4)}b)`)],
  ['parser', 'spaces', (n) => query('labelSelector', `a${' '.repeat(n - 2)}b`)],
  ['parser', 'commas of a fieldSelector', (n) => query('fieldSelector', ','.repeat(n))],
  ['parser', 'a name', (n) => query('fieldSelector', `metadata.name=${'.'.repeat(n - 14)}`)],
  ['http', 'clauses of Accept', (n) => header('accept', 'a/b,'.repeat(n / 4))],
  ['http', 'parameters of Accept', (n) => header('accept', `a/b${';q=1'.repeat(n / 4)}`)],
  ['http', 'spaces of Accept', (n) => header('accept', `a/b;${' '.repeat(n)};c`)],
  ['http', 'Host', (n) => header('host', '['.repeat(n))],
  ['http', 'Host with colons', (n) => header('host', 'a:'.repeat(n / 2))],
  ['http', 'Origin', (n) => header('origin', 'a'.repeat(n))],
  ['http', 'headers', (n) => ({ headers: manyHeaders(n / 8) })],
  ['https', 'a token', (n) => header('authorization', `Bearer ${'a'.repeat(n)}`)],
  ['https', 'spaces before a token', (n) => header('authorization', `Bearer ${' '.repeat(n)}a`)],
  ['admin', 'path', (n) => ({ path: `/explain${'/a'.repeat(n / 2)}` })],
  [
    'admin',
    'labelSelector',
    (n) => ({ path: `/explain?labelSelector=${encodeURIComponent(','.repeat(n))}` }),
  ],
];

function manyHeaders(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`x${n}`, 'a']));
}

test.each(INPUTS)(
  '%s: %s: four times the length costs at most eight times the CPU',
  async (target, _, of) => {
    await cost(target, of(4 * LENGTH));
    const short: number[] = [];
    const long: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      short.push(await cost(target, of(LENGTH)));
      long.push(await cost(target, of(4 * LENGTH)));
    }
    expect(Math.min(...long) / Math.min(...short)).toBeLessThan(MAX_GROWTH);
  },
);
