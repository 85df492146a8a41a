import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ControlPlane } from '../harness/api-server/control-plane.ts';
import { getStatus } from '../harness/api-server/http-status.ts';
import type { ServingCert } from '../harness/api-server/serving-cert.ts';
import { freePorts } from '../harness/network/free-port.ts';
import { startProcess, waitUntilReady } from '../harness/process/managed-process.ts';
import { CURRENT_SLICES } from '../src/client/api/kube-proxy-queries.ts';
import { queryPath } from '../src/client/api/query.ts';
import { createProcessUsage, type ProcessUsage } from './process-usage.ts';

/** The node that the wrapper serves; the measuring client makes it. */
export const NODE_NAME = 'node-0-0';

/** A running wrapper. */
export interface MeasuredWrapper extends ProcessUsage {
  readonly url: string;
  /** When it was started, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** Waits until /readyz answers 200; returns the milliseconds since the start. */
  ready(): Promise<number>;
  /** Pulls the plug. */
  kill(): Promise<void>;
  /** All that it has logged. */
  log(): string;
  stop(): Promise<void>;
}

const root = resolve(import.meta.dirname, '..');
/** As the image and the systemd unit start it. A program cannot set it for itself. */
const ENVIRONMENT = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '524288' };

/** What is started, and how. */
export interface WrapperStart {
  /** Path of the program. */
  readonly program: string;
  /** Address of the API server, or of a relay to it. */
  readonly server: string;
  /** Folder for a CPU profile; undefined: none is taken. */
  readonly profile: string | undefined;
  /** Default: our own. */
  readonly nodeName?: string | undefined;
  /** Default: the token of all wrappers. */
  readonly token?: string | undefined;
  /** Where it reads from, besides the API server: the relays of a Service. */
  readonly relays?: { readonly service: string; readonly caFile: string } | undefined;
  /** It keeps snapshots, and takes the machine to be in the boot with this id. */
  readonly boot?: { readonly id: string; readonly stateDir: string } | undefined;
  /** Makes it a relay. */
  readonly relay?: (ServingCert & { readonly listen: string }) | undefined;
}

/** Starts the program as its users run it, at the API server of the control plane. */
export async function startMeasuredWrapper(
  plane: ControlPlane,
  how: WrapperStart,
): Promise<MeasuredWrapper> {
  const { program, server, profile, nodeName = NODE_NAME, token, relays, boot, relay } = how;
  const [port = 0, adminPort = 0] = await freePorts(2);
  const listen = `127.0.0.1:${port}`;
  const adminListen = `127.0.0.1:${adminPort}`;
  const place = relay === undefined ? { listen } : { https: relay };
  const config = join(plane.folder, `wrapper-${port}.json`);
  const settings = { nodeName, adminListen, relays, stateDir: boot?.stateDir, ...place };
  writeFileSync(config, JSON.stringify(settings));
  const flags = profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profile];
  const args = [...flags, program, relay === undefined ? 'run' : 'relay'];
  const identity = token === undefined ? { server } : { server, token };
  args.push('--kubeconfig', plane.kubeconfig('wrapper', identity), '--config', config);
  const startedAt = now();
  const logFile = join(plane.folder, `wrapper-${port}.log`);
  const command = inBoot([process.execPath, ...args], `${config}.boot`, boot?.id);
  const managed = startProcess({ name: 'wrapper', logFile, env: ENVIRONMENT, ...command });
  return {
    url: relay === undefined ? `http://${listen}` : `https://${relay.listen}`,
    startedAt,
    ready: async () => {
      const url = `http://${adminListen}/readyz`;
      await waitUntilReady(managed, async () => (await getStatus(url)) === 200, 60_000);
      return now() - startedAt;
    },
    ...createProcessUsage(managed.pid),
    kill: async () => await managed.stop('SIGKILL'),
    log: managed.log,
    stop: async () => await managed.stop(),
  };
}

/** Shows a program another id of the boot, in a mount namespace of its own. Both programs replace themselves. */
function inBoot([program = '', ...args]: readonly string[], file: string, id?: string) {
  if (id === undefined) return { command: program, args };
  writeFileSync(file, `${id}\n`);
  const script = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"';
  return { command: 'unshare', args: ['--mount', 'sh', '-c', script, file, program, ...args] };
}

/** A process that reads the same slices as the wrapper, from the same API server, and does nothing with them. */
export async function startWatchReader(
  plane: ControlPlane,
): Promise<ProcessUsage & Pick<MeasuredWrapper, 'stop'>> {
  const path = `${queryPath(CURRENT_SLICES)}&watch=true&allowWatchBookmarks=true`;
  const managed = startProcess({
    name: 'reader',
    command: process.execPath,
    args: [join(root, 'bench/read-watch.ts'), plane.server, plane.caFile, path],
    logFile: join(plane.folder, 'reader.log'),
    env: { TOKEN: plane.tokens.wrapper },
  });
  return { ...createProcessUsage(managed.pid), stop: async () => await managed.stop() };
}

/** Milliseconds since the epoch, finer than Date.now(). */
function now(): number {
  return performance.timeOrigin + performance.now();
}
