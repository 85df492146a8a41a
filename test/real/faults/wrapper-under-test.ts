import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { writeKubeconfig } from '../../../harness/api-server/kubeconfig.ts';
import { PROGRAM, runArgs } from '../../../harness/node/program.ts';
import { poll } from '../../../harness/poll.ts';
import {
  type ManagedProcess,
  type ProcessOptions,
  startProcess,
} from '../../../harness/process/managed-process.ts';
import { cpuSeconds, peakMegabytes } from '../../../harness/process/process-figures.ts';
import { runCommand } from '../../../harness/process/run-command.ts';
import type { ViewBounds } from '../../../src/config/view-bounds.ts';
import { MAX_LIST_BYTES } from './bounds.ts';

/** Name of the wrapper's node. */
export const SELF = 'here';

export interface WrapperUnderTestOptions {
  /** For its files; made by the caller. */
  readonly folder: string;
  readonly listenPort: number;
  readonly adminPort: number;
  /** URL of the front. */
  readonly server: string;
  readonly ca: string;
  readonly token: string;
  /** More settings. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Default: the values of the program. */
  readonly viewBounds?: ViewBounds;
  /** Where it runs. Default: on this machine. */
  readonly place?: Place;
}

/** Where a wrapper runs. */
export interface Place {
  start(options: ProcessOptions): ManagedProcess;
  /** A GET there; undefined: nothing answers. */
  get(url: string): Promise<{ readonly status: number; readonly body: string } | undefined>;
  /** The folder of the state, as the wrapper and as we see it. */
  readonly state?: { readonly inside: string; readonly outside: string };
  /** A command that the wrapper is run by. */
  readonly runBy?: readonly string[];
}

/** One process. */
export interface Run {
  /** Of performance.now(). */
  readonly startedAt: number;
}

/** What a process has used. */
export interface Usage {
  /** Of all processes so far. */
  readonly cpuSeconds: number;
  /** The largest of all processes. */
  readonly peakMB: number;
  readonly descriptors: number;
  /** Lines that all processes have logged so far. */
  readonly logLines: number;
}

/** Shifts the clock of the process. */
const SHIFTED_CLOCK = new URL('shifted-clock.ts', import.meta.url).href;
/** Lets recorders tell which process has answered. */
const NAMED_PROCESS = new URL('named-process.ts', import.meta.url).href;
const SET_VIEW_BOUNDS = new URL('../../../harness/node/view-bounds.ts', import.meta.url).href;
const HANDOVER_SECONDS = 60;
/** The soft limit of descriptors where none is meant. Each machine allows that much. */
const DESCRIPTORS = 4_096;
const DECISION_LINE = '"msg":"the decision about a Service changed"';
const SWITCH_LINE = /"msg":"(an?|another) (API server|relay) is used/;
const FROM_SNAPSHOT = /view_from_snapshot\{[^}]*\} 1$/m;

/** The wrapper as its users run it, at fixed ports. */
export class WrapperUnderTest {
  readonly url: string;
  readonly stateDir: string;
  readonly logFile: string;
  /** The processes, in the order of their starts. */
  readonly runs: Run[] = [];
  readonly #options: WrapperUnderTestOptions;
  readonly #place: Place;
  readonly #command: readonly string[];
  readonly #clockFile: string;
  #process: ManagedProcess | undefined;
  /** Of the processes that have ended. */
  #past = { cpuSeconds: 0, peakMB: 0 };

  constructor(options: WrapperUnderTestOptions) {
    const { folder, listenPort, adminPort, settings } = options;
    this.#options = options;
    this.#place = options.place ?? { start: startProcess, get: getHere };
    this.url = `http://127.0.0.1:${listenPort}`;
    const { state = { inside: join(folder, 'state'), outside: join(folder, 'state') } } =
      this.#place;
    this.stateDir = state.outside;
    this.logFile = join(folder, 'wrapper.log');
    const config = join(folder, 'settings.yaml');
    writeFileSync(
      config,
      dump({
        stateDir: state.inside,
        handoverSeconds: HANDOVER_SECONDS,
        maxListBytes: MAX_LIST_BYTES,
        ...settings,
      }),
    );
    this.#clockFile = join(folder, 'clock');
    this.setClock(0);
    this.#command = [
      ...(this.#place.runBy ?? []),
      process.execPath,
      '--import',
      SHIFTED_CLOCK,
      '--import',
      NAMED_PROCESS,
      '--import',
      SET_VIEW_BOUNDS,
      PROGRAM,
      ...runArgs({
        kubeconfig: this.#writeKubeconfig(),
        nodeName: SELF,
        listen: `127.0.0.1:${listenPort}`,
        adminListen: `127.0.0.1:${adminPort}`,
        configFile: config,
      }),
    ];
  }

  start(): void {
    this.runs.push({ startedAt: performance.now() });
    const [command = '', ...args] = this.#command;
    this.#process = this.#place.start({
      name: 'wrapper',
      command,
      args,
      logFile: this.logFile,
      env: {
        KPW_TEST_CLOCK_FILE: this.#clockFile,
        KPW_TEST_VIEW_BOUNDS: JSON.stringify(this.#options.viewBounds ?? null),
      },
    });
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    const last = this.#process;
    if (last === undefined) return;
    this.#remember(last);
    // With handoverSeconds a second signal ends it without a next process.
    if (signal === 'SIGTERM') last.child.kill(signal);
    await last.stop(signal === 'SIGTERM' ? 'SIGINT' : signal);
  }

  /**
   * A planned restart: the next process starts, the last one gets SIGTERM. Resolves with how the last one has ended.
   */
  async replace(): Promise<string | undefined> {
    const last = this.#process;
    this.start();
    if (last === undefined) return undefined;
    const remembering = setInterval(() => this.#remember(last, true), 500);
    await last.stop('SIGTERM', 2 * HANDOVER_SECONDS * 1000);
    clearInterval(remembering);
    return last.ending();
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.child.kill(signal);
  }

  /** Leaves the process `spare` more descriptors than it has; undefined: as many as before. */
  async limitDescriptors(spare: number | undefined): Promise<void> {
    const pid = this.#process?.pid;
    if (pid === undefined) return;
    const limit = spare === undefined ? DESCRIPTORS : descriptorsOf(pid) + spare;
    // The hard limit remains: to raise it again may be forbidden.
    await runCommand('prlimit', ['--pid', String(pid), `--nofile=${limit}:`]);
  }

  /** Leaves the process no more memory than it has; what needs more ends it. */
  async limitMemory(): Promise<void> {
    const pid = this.#process?.pid;
    if (pid === undefined) return;
    const kB = /VmData:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    await runCommand('prlimit', ['--pid', String(pid), `--data=${Number(kB) * 1024}:`]);
  }

  /** Whether the last process that was started runs. */
  isRunning(): boolean {
    return this.#process?.ending() === undefined;
  }

  /** The clock of dates jumps: from now on it is so far ahead of the machine's, in milliseconds. */
  setClock(aheadMs: number): void {
    writeFileSync(this.#clockFile, String(aheadMs));
  }

  usage(): Usage {
    const pid = this.#process?.pid ?? 0;
    const now = measure(pid);
    return {
      cpuSeconds: this.#past.cpuSeconds + now.cpuSeconds,
      peakMB: Math.max(this.#past.peakMB, now.peakMB),
      descriptors: descriptorsOf(pid),
      logLines: this.#logLines().length,
    };
  }

  /** A page of the admin port; undefined: nothing answers. */
  async admin(path: string) {
    return await this.#place.get(`http://127.0.0.1:${this.#options.adminPort}${path}`);
  }

  /** Status of /readyz; undefined: nothing answers. */
  async readyz(): Promise<number | undefined> {
    return (await this.admin('/readyz'))?.status;
  }

  /** Waits until /readyz answers 200; resolves with whether it did in time. */
  async isReady(timeoutMs: number): Promise<boolean> {
    const readyz = () => this.readyz();
    return await isInTime(poll(readyz, (status) => status === 200, { timeoutMs }));
  }

  /**
   * Waits until no view shows the state from disk any more: until then a process is still starting, though clients may
   * be right and /readyz may answer 200. Resolves with whether it did in time.
   */
  async hasListed(timeoutMs: number): Promise<boolean> {
    const metrics = () => this.admin('/metrics');
    const isListed = (page: Awaited<ReturnType<typeof metrics>>) =>
      page !== undefined && !FROM_SNAPSHOT.test(page.body);
    return await isInTime(poll(metrics, isListed, { timeoutMs }));
  }

  /** The API server or relay in use, as `host:port`; undefined: nothing answers. */
  async server(): Promise<string | undefined> {
    const metrics = await this.admin('/metrics');
    return /upstream_server_in_use\{server="([^"]+)"\} 1$/m.exec(metrics?.body ?? '')?.[1];
  }

  /** The end of the log. */
  log(): string {
    return readFileSync(this.logFile, 'utf8').slice(-4_000);
  }

  /** The messages of the log after so many lines. */
  messagesSince(lines: number): string {
    const messages = this.#logLines()
      .slice(lines)
      .map((line) => /"msg":"([^"]{0,70})/.exec(line)?.[1] ?? line.slice(0, 70));
    return messages.join(' | ');
  }

  /**
   * Without what V8 writes about a process that has no memory, and without changed decisions: the cluster causes those,
   * and they have a bound of their own (decision-log.ts). Nor changes of the server: a test returns to a relay four
   * times as often.
   */
  #logLines(): string[] {
    return readFileSync(this.logFile, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .filter((line) => !line.includes(DECISION_LINE) && !SWITCH_LINE.test(line));
  }

  /** Before it ends, because afterwards nobody can tell. */
  #remember(last: ManagedProcess, onlyPeak = false): void {
    const { cpuSeconds, peakMB } = measure(last.pid);
    this.#past = {
      cpuSeconds: this.#past.cpuSeconds + (onlyPeak ? 0 : cpuSeconds),
      peakMB: Math.max(this.#past.peakMB, peakMB),
    };
  }

  #writeKubeconfig(): string {
    const { folder, server, ca, token } = this.#options;
    const [path, caFile] = [join(folder, 'kubeconfig'), join(folder, 'api-server-ca.crt')];
    writeFileSync(caFile, ca);
    writeKubeconfig(path, { server, caFile, token });
    return path;
  }
}

async function isInTime(polled: Promise<unknown>): Promise<boolean> {
  return await polled.then(
    () => true,
    () => false,
  );
}

async function getHere(url: string) {
  return await fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    async (response) => ({ status: response.status, body: await response.text() }),
    () => undefined,
  );
}

/** Of a process that has ended: nothing. */
function measure(pid: number): { readonly cpuSeconds: number; readonly peakMB: number } {
  try {
    return { cpuSeconds: cpuSeconds(pid), peakMB: peakMegabytes(pid) };
  } catch {
    return { cpuSeconds: 0, peakMB: 0 };
  }
}

function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}
