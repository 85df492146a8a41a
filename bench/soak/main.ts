/** Runs the wrapper for long, and looks whether memory, handles and sockets stay; see `--help`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getStatus } from '../../harness/api-server/http-status.ts';
import { freePorts } from '../../harness/network/free-port.ts';
import { PROGRAM } from '../../harness/node/program.ts';
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
import { startEmbeddedServer } from './soak-server.ts';
import { judge, notGivenBack } from './verdict.ts';

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

interface SoakWrapper {
  readonly managed: ManagedProcess;
  readonly url: string;
  readonly metrics: string;
}

const options = parseSoakOptions(process.argv.slice(2));
if (options !== undefined) await soak(options);

async function soak({ minutes, sampleSeconds, goaway }: SoakOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kpw-soak-'));
  const server = goaway ? await startGoawayServer() : await startEmbeddedServer();
  const wrapper = await startWrapper(folder, server.kubeconfig);
  const began = performance.now();
  const sample = async (): Promise<Sample> => {
    const seconds = (performance.now() - began) / 1000;
    return await takeSample(wrapper.managed.pid, wrapper.metrics, seconds);
  };
  try {
    // Only clients let the wrapper open what it follows for good, such as sets of nodes.
    await runClients(wrapper.url, server.clients, AbortSignal.timeout(FIRST_CLIENTS_MS));
    await sleep(QUIET_MS);
    const before = await sample();
    const start = performance.now();
    const end = new AbortController();
    const warm = Math.max(MIN_WARM_UP_SECONDS, minutes * 60 * WARM_UP_SHARE);
    const whole = warm + minutes * 60;
    const parts = new Map<ClientName, number>(server.clients.map((name) => [name, 0]));
    let unanswered = 0;
    const clients = runClients(wrapper.url, server.clients, end.signal, {
      onPart: (client) => {
        const isSecondHalf = (performance.now() - start) / 1000 > whole / 2;
        if (isSecondHalf) parts.set(client, (parts.get(client) ?? 0) + 1);
      },
      onNothing: (client) => {
        if (client === 'reopeners') unanswered++;
      },
    });
    const load = Promise.all([server.churn(end.signal), clients]);
    const samples: Sample[] = [];
    while ((performance.now() - start) / 1000 < whole) {
      await sleep(sampleSeconds * 1000);
      const now = await sample();
      if ((performance.now() - start) / 1000 > warm) samples.push(now);
      process.stderr.write(`${JSON.stringify(now)}\n`);
    }
    end.abort();
    const [changes] = await load;
    const after = await settle(sample, (now) => notGivenBack(before, now, { goaway }).length === 0);
    const { lines, failures } = judge(samples, before, after, {
      changes,
      parts: Object.fromEntries(parts),
      unanswered,
      goaway,
    });
    process.stdout.write(`\n${lines.join('\n')}\n`);
    for (const failure of failures) process.stdout.write(`FAILED: ${failure}\n`);
    if (failures.length > 0) process.exitCode = 1;
  } finally {
    await wrapper.managed.stop();
    await server.close();
    rmSync(folder, { recursive: true });
  }
}

/** The first sample in which all is given back, else the last. */
async function settle(
  sample: () => Promise<Sample>,
  isBack: (now: Sample) => boolean,
): Promise<Sample> {
  const deadline = performance.now() + AFTERMATH_MS;
  for (;;) {
    const now = await sample();
    if (isBack(now) || performance.now() > deadline) return now;
    await sleep(1_000);
  }
}

async function startWrapper(folder: string, credentials: string): Promise<SoakWrapper> {
  const [port = 0, adminPort = 0] = await freePorts(2);
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, credentials);
  const configFile = join(folder, 'settings.yaml');
  writeFileSync(configFile, JSON.stringify({ logLevel: 'error' }));
  const args = ['--import', SET_VIEW_BOUNDS, PROGRAM, 'run'];
  args.push('--kubeconfig', kubeconfig, '--node-name', NODE_NAME, '--config', configFile);
  args.push('--listen', `127.0.0.1:${port}`, '--admin-listen', `127.0.0.1:${adminPort}`);
  const logFile = join(folder, 'wrapper.log');
  // With an arena for each thread, glibc takes minutes to fill them all, and what they gain looks like a leak.
  const env = { MALLOC_ARENA_MAX: '1', KPW_TEST_VIEW_BOUNDS: JSON.stringify(VIEW_BOUNDS) };
  const command = process.execPath;
  const managed = startProcess({ name: 'wrapper', command, args, logFile, env });
  const admin = `http://127.0.0.1:${adminPort}`;
  await waitUntilReady(managed, async () => (await getStatus(`${admin}/readyz`)) === 200);
  return { managed, url: `http://127.0.0.1:${port}`, metrics: `${admin}/metrics` };
}
