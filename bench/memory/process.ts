import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { kubeconfigFor } from '../../fake-apiserver/kubeconfig.ts';
import { freePorts } from '../../harness/network/free-port.ts';

/** A wrapper whose memory is measured. */
export interface MeasuredWrapper {
  readonly port: number;
  readonly adminPort: number;
  /** Resident memory now and at its highest, in MB (10⁶ bytes). */
  memory(): Promise<{ readonly rss: number; readonly peak: number }>;
  stop(): Promise<void>;
}

/** Starts a wrapper on node `node-0` and waits until it is alive; rejects when it ends before. */
export async function startMeasured(
  main: string,
  apiServer: string,
  more: Record<string, unknown> = {},
): Promise<MeasuredWrapper> {
  const folder = await mkdtemp(join(tmpdir(), 'kube-proxy-wrapper-memory-'));
  const [port = 0, adminPort = 0] = await freePorts(2);
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigFor(apiServer));
  const settings = {
    nodeName: 'node-0',
    kubeconfig,
    logLevel: 'silent',
    listen: `127.0.0.1:${port}`,
    adminListen: `127.0.0.1:${adminPort}`,
    ...more,
  };
  const file = join(folder, 'settings.json');
  await writeFile(file, JSON.stringify(settings));
  const stdio = ['ignore', 'ignore', 'inherit'] as const;
  const child = spawn(process.execPath, [main, 'run', '--config', file], { stdio: [...stdio] });
  const ended = once(child, 'exit');
  while (!(await isAlive(adminPort))) {
    if (child.exitCode !== null) throw new Error(`${main} has ended`);
    await sleep(50);
  }
  return {
    port,
    adminPort,
    memory: async () => {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return { rss: megabytes(status, 'VmRSS'), peak: megabytes(status, 'VmHWM') };
    },
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function megabytes(status: string, name: string): number {
  const kibibytes = Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]);
  return Math.round((kibibytes * 1024) / 1e6);
}

async function isAlive(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );
}
