import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { KUBERNETES } from '../harness/process/binaries.ts';
import { runCommand } from '../harness/process/run-command.ts';

/** Where and when a run was made. */
export interface Machine {
  /** UTC, to the minute. */
  readonly date: string;
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGb: number;
  readonly kernel: string;
  readonly node: string;
  readonly kubeApiserver: string;
  readonly commit: string;
  /** One-minute load average just before the run: what else the machine was doing. */
  readonly loadBefore: number;
}

/** Where, when and how long a benchmark ran. */
export interface Run {
  readonly machine: Machine;
  /** Seconds that it took. */
  readonly seconds: number;
}

export async function describeMachine(): Promise<Machine> {
  const [first] = cpus();
  return {
    date: `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC`,
    cores: cpus().length,
    cpu: first?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    kubeApiserver: KUBERNETES,
    commit: await commit(),
    loadBefore: loadavg()[0] ?? 0,
  };
}

/**
 * One paragraph about where, when and with what.
 *
 * @param seconds that the run took
 */
export function describeRun(machine: Machine, seconds: number, what: string): string {
  return [
    `${machine.date}, commit ${machine.commit}: ${what} in ${Math.round(seconds)} s.`,
    `${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, Linux ${machine.kernel}, Node ${machine.node}, kube-apiserver ${machine.kubeApiserver};`,
    `load average before the run ${machine.loadBefore.toFixed(2)}.`,
  ].join('\n');
}

/** The checked-out commit; with a `+` if anything but documents differs from it. */
async function commit(): Promise<string> {
  try {
    const head = await runCommand('git', ['rev-parse', '--short', 'HEAD']);
    const changes = await runCommand('git', [
      'status',
      '--porcelain',
      '--',
      ':/',
      ':(top,exclude)*.md',
    ]);
    return `${head.trim()}${changes === '' ? '' : '+'}`;
  } catch {
    const file = new URL('../package.json', import.meta.url);
    return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  }
}
