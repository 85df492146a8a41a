/**
 * Runs one Line against a real kube-apiserver with GOAWAYs, behind a front that resets, drops, delays and stalls; see
 * NOTES.md. Each watch must bring every change, each list must be whole, and nothing may hang.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { startControlPlane } from '../harness/api-server/control-plane.ts';
import { freePorts } from '../harness/network/free-port.ts';
import { DROP_OLD, HOLD, startTcpFront, type TcpFault } from '../harness/network/tcp-front.ts';
import { OpenSockets } from '../src/client/system/open-sockets.ts';
import { Line } from '../src/client/upstream/line.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    'quiet-ms': { type: 'string', default: '5000' },
  },
});

/** Round trips of 300 ms; stalls of 250 ms after one piece in some, as of a link that loses packets. */
const FAULTS: readonly { readonly fault: TcpFault | undefined; readonly seconds: number }[] = [
  { fault: undefined, seconds: 8 },
  { fault: { kind: 'reset' }, seconds: 1 },
  { fault: { kind: 'delay', ms: [150, 150] }, seconds: 10 },
  { fault: DROP_OLD, seconds: 14 },
  { fault: { kind: 'stutter', ms: 250 }, seconds: 8 },
  { fault: { kind: 'reset', everyMs: 700 }, seconds: 5 },
  { fault: { kind: 'refuse' }, seconds: 2 },
  { fault: HOLD, seconds: 4 },
  { fault: { kind: 'cutAfter', bytes: [1, 40_000], ending: 'reset' }, seconds: 5 },
];
const MAPS = '/api/v1/namespaces/default/configmaps';
const LIST_SIZE = 200;
const CHANGED = 'changed';
const LIMIT_MS = 45_000;

const plane = await startControlPlane({ apiServerArgs: ['--goaway-chance=0.02'] });
const [port = 0] = await freePorts(1);
const front = await startTcpFront({
  listen: { host: '127.0.0.1', port },
  target: { host: '127.0.0.1', port: plane.apiServer.port },
});
const sockets = new OpenSockets();
const counts = new Map<string, number>();
const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
process.on('uncaughtException', (error) => {
  console.error(error);
  count('UNCAUGHT');
});
const line = new Line({
  server: new URL(`https://127.0.0.1:${port}`),
  tls: { ca: readFileSync(plane.caFile) },
  quietMs: Number(values['quiet-ms']),
  sockets,
  serverState: { reportContact: () => {}, reportBytes: () => {} },
  logger: pino({ level: 'silent' }),
});
const stop = new AbortController();
const times: number[] = [];
let written = 0;

const send = (path: string, body?: string) =>
  line.request({
    path,
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${plane.tokens.admin}`,
      accept: 'application/json',
      'content-type': 'application/json',
    },
    body: body ?? null,
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(LIMIT_MS)]),
  });

async function repeat(what: string, work: () => Promise<void>): Promise<void> {
  while (!stop.signal.aborted) {
    const start = performance.now();
    try {
      await work();
      count(`${what}: answered`);
      times.push(performance.now() - start);
      await sleep(50);
    } catch (error) {
      if (stop.signal.aborted) return;
      const { name, message, code } = error as Error & { code?: string };
      if (name === 'TimeoutError') count('STUCK');
      if (name === 'AssertionError') count(`WRONG: ${message}`);
      count(`${what}: ${code ?? name} ${message.slice(0, 60)}`);
      await sleep(100);
    }
  }
}

async function list(): Promise<void> {
  const { statusCode, body } = await send(MAPS);
  if (statusCode !== 200) return void body.resume();
  const { items } = (await body.json()) as { items: object[] };
  if (items.length < LIST_SIZE) count(`WRONG: ${items.length} items`);
}

let reviews = 0;

async function review(): Promise<void> {
  const spec = { resourceAttributes: { verb: 'get', resource: 'pods' } };
  const kind = { kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1' };
  const path = `/apis/authorization.k8s.io/v1/selfsubjectaccessreviews?fieldManager=n-${reviews++}`;
  const { body } = await send(path, JSON.stringify({ ...kind, spec }));
  const { kind: answered } = (await body.json()) as { kind: string };
  if (answered !== kind.kind) count(`WRONG: ${answered}`);
}

/** Follows the number in one object; each must come. */
async function follow(): Promise<void> {
  let version = '';
  let last = -1;
  while (!stop.signal.aborted) {
    try {
      if (version === '') {
        const { body } = await send(`${MAPS}/${CHANGED}`);
        const object = (await body.json()) as {
          metadata: { resourceVersion: string };
          data: { n: string };
        };
        [version, last] = [object.metadata.resourceVersion, Number(object.data.n)];
      }
      const query = `watch=true&fieldSelector=metadata.name%3D${CHANGED}&resourceVersion=${version}&timeoutSeconds=30`;
      const { statusCode, body } = await send(`${MAPS}?${query}`);
      if (statusCode !== 200) {
        version = '';
        body.resume();
        throw new Error(String(statusCode));
      }
      let rest = '';
      for await (const chunk of body) {
        const lines = (rest + String(chunk)).split('\n');
        rest = lines.pop() ?? '';
        for (const { type, object } of lines.map((each) => JSON.parse(each))) {
          if (type !== 'MODIFIED') throw new Error(type);
          const n = Number(object.data.n);
          if (n !== last + 1) count(`WRONG: ${n} after ${last}`);
          [version, last] = [object.metadata.resourceVersion, n];
          count('events');
        }
      }
      count('watch: ended');
    } catch (error) {
      if (stop.signal.aborted) break;
      const { code, name, message } = error as Error & { code?: string };
      count(`watch: ${code ?? name} ${message.slice(0, 60)}`);
      await sleep(100);
    }
  }
  await until(() => last === written || stop.signal.aborted);
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(20);
}

const object = (name: string, n: number) => ({
  metadata: { name },
  data: { n: String(n), pad: 'x'.repeat(500) },
});
for (let n = 0; n < LIST_SIZE; n++) await plane.admin.create(MAPS, object(`m-${n}`, n));
await plane.admin.create(MAPS, object(CHANGED, 0));
const heap = process.memoryUsage().heapUsed;
const work = [
  ...Array.from({ length: 7 }, follow),
  ...Array.from({ length: 3 }, () => repeat('list', list)),
  repeat('review', review),
];
const end = performance.now() + Number(values.minutes) * 60_000;
const writing = (async () => {
  while (performance.now() < end) {
    await plane.admin.patch(`${MAPS}/${CHANGED}`, { data: { n: String(++written) } });
    await sleep(100);
  }
})();
for (let n = 0; performance.now() < end; n++) {
  const { fault, seconds } = FAULTS[n % FAULTS.length] as (typeof FAULTS)[number];
  const active = fault === undefined ? undefined : await front.begin(fault);
  if (fault !== undefined) count(`fault: ${fault.kind}`);
  await sleep(seconds * 1000);
  await active?.end();
}
await writing;
await sleep(LIMIT_MS);
stop.abort();
await Promise.all(work);
const seen = new Set<string>();
for (const { uri } of await plane.requests()) {
  if (!uri.includes('fieldManager=n-')) continue;
  if (seen.has(uri)) count('WRONG: a POST was sent twice');
  seen.add(uri);
}
console.log({ posts: seen.size });
times.sort((a, b) => a - b);
const part = (share: number) => Math.round(times[Math.floor(times.length * share)] ?? 0);
console.log(Object.fromEntries([...counts].sort()));
console.log({
  answers: times.length,
  p50: part(0.5),
  p99: part(0.99),
  longest: part(0.99999),
  written,
});
globalThis.gc?.();
console.log({
  heapMB: [heap, process.memoryUsage().heapUsed].map((each) => each >> 20),
  sockets: [...sockets].length,
});
for (const socket of sockets) socket.destroy();
await front.stop();
await plane.stop();
process.exit();
