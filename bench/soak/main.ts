/** Runs the wrapper for long, and looks whether memory, handles and sockets stay; see `--help`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeServingCert } from '../../harness/api-server/serving-cert.ts';
import { send } from '../../harness/hostile/http.ts';
import { freePorts } from '../../harness/network/free-port.ts';
import { isReadyForKubeProxy, PROGRAM } from '../../harness/node/program.ts';
import {
  type ManagedProcess,
  startProcess,
  waitUntilReady,
} from '../../harness/process/managed-process.ts';
import { NODE_NAME } from './churn.ts';
import { type ClientName, runClients } from './clients.ts';
import { startGoawayServer } from './goaway-server.ts';
import { parseSoakOptions, type SoakOptions } from './options.ts';
import { type Sample, takeSample } from './samples.ts';
import { type SoakServer, startEmbeddedServer } from './soak-server.ts';
import { type Done, judge, notGivenBack } from './verdict.ts';

const HOST = '127.0.0.1';
/** Time for the heap to find its size, before slopes are taken: a quarter of the run, but no less than this. */
const WARM_UP_SHARE = 0.25;
const MIN_WARM_UP_SECONDS = 60;
/** A window that is soon full. Views are closed after 5 s, and their connections with them. */
const VIEW_BOUNDS = {
  window: { entries: 500, bytes: 500_000 },
  bookmarkMs: 60_000,
  idleViewMs: 5_000,
};
const SET_VIEW_BOUNDS = new URL('../../harness/node/view-bounds.ts', import.meta.url).href;
/** The first clients stay for so long, and then all that they leave is closed. */
const FIRST_CLIENTS_MS = 5_000;
const QUIET_MS = 15_000;
/**
 * Until all that clients left behind is closed: idle views, node sets (a minute after the last policy), and then the
 * connections that are kept for a next request (60 s).
 */
const AFTERMATH_MS = 130_000;

/** A process that is measured. */
interface Soaked {
  readonly name: 'wrapper' | 'relay';
  readonly managed: ManagedProcess;
  readonly url: string;
  /** URL of its metrics; a relay has none. */
  readonly metrics: string | undefined;
}

const options = parseSoakOptions(process.argv.slice(2));
if (options !== undefined) await soak(options);

async function soak(options: SoakOptions): Promise<void> {
  const { goaway, relay } = options;
  const folder = mkdtempSync(join(tmpdir(), 'kpw-soak-'));
  const server = goaway ? await startGoawayServer() : await startEmbeddedServer(folder);
  const stage: Stage = { folder, kubeconfig: server.kubeconfig, soaked: [] };
  const { soaked } = stage;
  try {
    const { url, metrics } = await startWrapper(stage, relay ? await startRelay(stage) : {});
    // Only clients let the wrapper open what it follows for good, such as sets of nodes.
    await runClients(url, server.clients, AbortSignal.timeout(FIRST_CLIENTS_MS));
    await sleep(QUIET_MS);
    const before = await sampleOf(soaked);
    const { samples, done } = await load(server, url, soaked, options);
    const isBack = (now: Sample, n: number) => notGivenBack(at(before, n), now, done).length === 0;
    const after = await settle(soaked, (now) => now.every(isBack));
    const failures = soaked.flatMap(({ name }, n) => {
      const taken = samples.map((now) => at(now, n));
      const verdict = judge(taken, at(before, n), at(after, n), done);
      process.stdout.write(`\n${name}\n${verdict.lines.join('\n')}\n`);
      return verdict.failures.map((failure) => `${name}: ${failure}`);
    });
    // One that has left the relay would hide what the relay does not give back.
    if (relay && !(await readsFrom(metrics, new URL(at(soaked, 0).url).host))) {
      failures.push('wrapper: it no longer reads from the relay');
    }
    for (const failure of failures) process.stdout.write(`FAILED: ${failure}\n`);
    if (failures.length > 0) process.exitCode = 1;
  } finally {
    for (const { managed } of soaked.toReversed()) await managed.stop();
    await server.close();
    rmSync(folder, { recursive: true });
  }
}

/** Runs clients and changes. Returns the samples after the warm-up. */
async function load(
  server: SoakServer,
  url: string,
  soaked: readonly Soaked[],
  { minutes, sampleSeconds, goaway }: SoakOptions,
): Promise<{ samples: Sample[][]; done: Done }> {
  const start = performance.now();
  const secondsSince = () => (performance.now() - start) / 1000;
  const end = new AbortController();
  const warm = Math.max(MIN_WARM_UP_SECONDS, minutes * 60 * WARM_UP_SHARE);
  const whole = warm + minutes * 60;
  const parts = new Map<ClientName, number>(server.clients.map((name) => [name, 0]));
  let unanswered = 0;
  const clients = runClients(url, server.clients, end.signal, {
    onPart: (client) => {
      if (secondsSince() > whole / 2) parts.set(client, (parts.get(client) ?? 0) + 1);
    },
    onNothing: (client) => {
      if (client === 'reopeners') unanswered++;
    },
  });
  const ended = Promise.all([server.churn(end.signal), clients]);
  const samples: Sample[][] = [];
  while (secondsSince() < whole) {
    await sleep(sampleSeconds * 1000);
    const now = await sampleOf(soaked);
    if (secondsSince() > warm) samples.push(now);
    process.stderr.write(`${JSON.stringify(now)}\n`);
  }
  end.abort();
  const [changes] = await ended;
  return { samples, done: { changes, parts: Object.fromEntries(parts), unanswered, goaway } };
}

/** What each process holds now. */
async function sampleOf(soaked: readonly Soaked[]): Promise<Sample[]> {
  const seconds = performance.now() / 1000;
  return await Promise.all(
    soaked.map(async ({ managed, metrics }) => await takeSample(managed.pid, metrics, seconds)),
  );
}

/** The element at an index that is there. */
function at<T>(all: readonly T[], index: number): T {
  const found = all[index];
  if (found === undefined) throw new Error(`there is no element ${index}`);
  return found;
}

async function readsFrom(metrics: string | undefined, server: string): Promise<boolean> {
  const text = metrics === undefined ? '' : await (await fetch(metrics)).text();
  return text.includes(`upstream_server_in_use{server="${server}"} 1`);
}

/** The first samples in which all is given back, else the last. */
async function settle(
  soaked: readonly Soaked[],
  isBack: (now: readonly Sample[]) => boolean,
): Promise<Sample[]> {
  const deadline = performance.now() + AFTERMATH_MS;
  for (;;) {
    const now = await sampleOf(soaked);
    if (isBack(now) || performance.now() > deadline) return now;
    await sleep(1_000);
  }
}

/** What the processes share. */
interface Stage {
  readonly folder: string;
  /** Text of their kubeconfig. */
  readonly kubeconfig: string;
  readonly soaked: Soaked[];
}

/** Returns the settings of a wrapper that reads from it. */
async function startRelay(stage: Stage): Promise<object> {
  const cert = await makeServingCert(stage.folder, 'relay', [HOST]);
  const [port = 0] = await freePorts(1);
  const https = { listen: `${HOST}:${port}`, ...cert };
  const { url } = await start(stage, 'relay', `https://${https.listen}`, { https });
  return { relays: { servers: [url], caFile: cert.certFile } };
}

async function startWrapper(stage: Stage, settings: object): Promise<Soaked> {
  const [port = 0] = await freePorts(1);
  const listen = `${HOST}:${port}`;
  return await start(stage, 'wrapper', `http://${listen}`, { listen, ...settings });
}

/** Starts a process, adds it to those that are measured, and waits until it is ready. */
async function start(
  { folder, kubeconfig, soaked }: Stage,
  name: Soaked['name'],
  url: string,
  settings: object,
): Promise<Soaked> {
  const [port = 0] = await freePorts(1);
  const adminListen = `${HOST}:${port}`;
  const common = { nodeName: NODE_NAME, logLevel: 'error', adminListen };
  const file = join(folder, name);
  writeFileSync(`${file}.kubeconfig`, kubeconfig);
  writeFileSync(`${file}.yaml`, JSON.stringify({ ...common, ...settings }));
  const args = ['--import', SET_VIEW_BOUNDS, PROGRAM, name === 'relay' ? 'relay' : 'run'];
  args.push('--kubeconfig', `${file}.kubeconfig`, '--config', `${file}.yaml`);
  // With an arena for each thread, glibc takes minutes to fill them all, and what they gain looks like a leak.
  const env = { MALLOC_ARENA_MAX: '1', KPW_TEST_VIEW_BOUNDS: JSON.stringify(VIEW_BOUNDS) };
  const command = process.execPath;
  const managed = startProcess({ name, command, args, logFile: `${file}.log`, env });
  const admin = `http://${adminListen}`;
  const metrics = name === 'relay' ? undefined : `${admin}/metrics`;
  const started: Soaked = { name, managed, url, metrics };
  soaked.push(started);
  await waitUntilReady(managed, async () => {
    const answer = await send(`${admin}/readyz`);
    return name === 'relay' ? answer.status === 200 : isReadyForKubeProxy(answer);
  });
  return started;
}
