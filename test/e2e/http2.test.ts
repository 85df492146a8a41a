import { setTimeout as sleep } from 'node:timers/promises';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  jest,
  test,
} from '@jest/globals';
import { pino } from 'pino';
import { type Credentials, loadCredentials } from '../../src/proxy/credentials/credentials.ts';
import { createUpstream, readBody, type Upstream } from '../../src/proxy/upstream/upstream.ts';
import { startTcpRelay, type TcpRelay } from '../support/http/tcp-relay.ts';
import { createNode } from './support/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from './support/control-plane.ts';
import { eventually } from './support/eventually.ts';

jest.setTimeout(120_000);

/** More than this on one connection are refused by the API server. */
const MAX_STREAMS = 5;
const NODES = '/api/v1/nodes';

let plane: ControlPlane;
let relay: TcpRelay;
let credentials: Credentials;
let upstream: Upstream;
let lines: string[];

beforeAll(async () => {
  plane = await startControlPlane({
    controllers: false,
    apiServerArgs: ['--goaway-chance=0.02', `--http2-max-streams-per-connection=${MAX_STREAMS}`],
  });
});

afterAll(async () => {
  await plane?.stop();
});

beforeEach(async () => {
  relay = await startTcpRelay(plane.server);
  lines = [];
  const write = (line: string) => void lines.push(line);
  const logger = pino({ level: 'info' }, { write });
  const kubeconfig = plane.kubeconfig('admin', { server: relay.url });
  credentials = await loadCredentials({ kubeconfig, logger });
  upstream = createUpstream({ credentials, logger });
});

afterEach(async () => {
  await upstream.close();
  credentials.close();
  await relay.close();
});

async function list(): Promise<number> {
  const response = await upstream.request({ method: 'GET', path: NODES });
  await readBody(response.body, 1 << 20, response.headers);
  return response.statusCode;
}

/** Leaves a connection open: a GOAWAY may close it after the request. */
async function connect(): Promise<void> {
  await eventually(
    async () => {
      await list();
      await sleep(50);
      return relay.open;
    },
    (open) => open > 0,
    { what: 'a connection that stays' },
  );
}

/** Opens a watch of all Nodes and follows it. */
async function watch() {
  const { statusCode, body } = await upstream.request({
    method: 'GET',
    path: `${NODES}?watch=true`,
  });
  expect(statusCode).toBe(200);
  let seen = '';
  const following = { names: () => seen, state: 'open' };
  const each = body.each((chunk) => {
    seen += chunk;
  });
  void each.then(
    () => {
      following.state = 'ended';
    },
    (error: Error) => {
      following.state = error.message;
    },
  );
  return following;
}

describe('a kube-apiserver that allows few streams and sends GOAWAY now and then', () => {
  test('answers all requests, and its watches go on', async () => {
    const watches = await Promise.all(Array.from({ length: 12 }, watch));
    expect(relay.open).toBeGreaterThanOrEqual(Math.ceil(12 / MAX_STREAMS));
    const before = relay.accepted;
    for (let n = 0; n < 400; n++) expect(await list()).toBe(200);
    const replaced = relay.accepted - before;
    process.stderr.write(`400 lists: ${replaced} further connections, ${relay.open} open\n`);
    expect(replaced).toBeGreaterThan(0);
    await createNode(plane.admin, 'seen-by-all', {});
    await eventually(
      () => watches.filter(({ names }) => names().includes('seen-by-all')).length,
      (count) => count === watches.length,
      { what: 'all watches to get the event' },
    );
    expect(watches.map(({ state }) => state)).toEqual(Array(12).fill('open'));
  });

  test('answers many requests at once', async () => {
    for (let round = 0; round < 10; round++) {
      const codes = await Promise.all(Array.from({ length: 40 }, list));
      expect(codes).toEqual(Array(40).fill(200));
    }
  });
});

describe('a path that drops old connections and takes new ones', () => {
  /** What the issue allows. */
  const WITHIN_MS = 35_000;

  test('is noticed in time', async () => {
    await connect();
    relay.freezeOpen();
    const frozenAt = performance.now();
    await expect(list()).rejects.toMatchObject({ code: 'Unreachable' });
    const elapsedMs = performance.now() - frozenAt;
    process.stderr.write(`a request on a dead connection ended after ${elapsedMs.toFixed(0)} ms\n`);
    expect(elapsedMs).toBeLessThan(WITHIN_MS);
    expect(await list()).toBe(200);
  });
});
