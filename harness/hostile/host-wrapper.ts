import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { writeServingFiles } from '../certificates.ts';
import { freePorts } from '../network/free-port.ts';
import { isReadyForKubeProxy, PROGRAM, runArgs } from '../node/program.ts';
import { startProcess, waitUntilReady } from '../process/managed-process.ts';
import { runCommand } from '../process/run-command.ts';
import { type SendOptions, send } from './http.ts';

export interface HostWrapperOptions {
  /** Path of the wrapper's own kubeconfig. */
  readonly kubeconfig: string;
  readonly nodeName: string;
  /** More settings; the listeners are set here. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Serve https as well, with a certificate made at the start. Default false. */
  readonly https?: boolean;
  /** A command that it is run by, such as `nsenter` with its flags. */
  readonly runBy?: readonly string[];
  /** Wait until a kube-proxy can connect. Default true. */
  readonly wait?: boolean;
}

/** How long a process may wait for the next one, and drain after that, in milliseconds. */
const REPLACE_MS = 60_000;

/** The program as its users run it, on loopback of this machine. */
export type HostWrapper = Awaited<ReturnType<typeof startHostWrapper>>;

export async function startHostWrapper(options: HostWrapperOptions) {
  const { kubeconfig, nodeName, wait = true, runBy = [] } = options;
  const folder = mkdtempSync(join(tmpdir(), 'kpw-hostile-'));
  const [port = 0, adminPort = 0, httpsPort = 0] = await freePorts(3);
  const { caFile, certFile, keyFile } = await writeServingFiles(folder);
  const https = { listen: `127.0.0.1:${httpsPort}`, certFile, keyFile };
  const settings = { ...options.settings, ...(options.https === true ? { https } : {}) };
  const configFile = join(folder, 'settings.yaml');
  writeFileSync(configFile, dump(settings));
  const [listen, adminListen] = [`127.0.0.1:${port}`, `127.0.0.1:${adminPort}`];
  const flags = { kubeconfig, nodeName, listen, adminListen, configFile };
  const [command = '', ...args] = [...runBy, process.execPath, PROGRAM, ...runArgs(flags)];
  let count = 0;
  const start = () => {
    const name = `wrapper-${++count}`;
    return startProcess({ name, command, args, logFile: join(folder, `${name}.log`) });
  };
  let managed = start();
  const listening = async (): Promise<void> =>
    await waitUntilReady(managed, async () => managed.log().includes('"msg":"listening"'));
  const adminUrl = `http://${adminListen}`;
  const stop = async (): Promise<void> => {
    await managed.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  if (wait) {
    const isReady = async () => isReadyForKubeProxy(await send(`${adminUrl}/readyz`));
    await waitUntilReady(managed, isReady).catch(async (error: unknown) => {
      await stop();
      throw error;
    });
  }
  return {
    get process() {
      return managed;
    },
    adminUrl,
    /** Kills the process, and starts the next one. Resolves when that listens. */
    restart: async (): Promise<void> => {
      await managed.stop('SIGKILL');
      managed = start();
      await listening();
    },
    /** Ends the process as the kubelet does, beside the next one; with `handoverSeconds` no connection is refused. */
    replace: async (): Promise<void> => {
      const last = managed;
      managed = start();
      await last.stop('SIGTERM', REPLACE_MS);
      await listening();
    },
    /** Ends it and removes its folder. */
    stop,
    url: `http://${listen}`,
    /** Only with the option `https`. */
    httpsUrl: `https://127.0.0.1:${httpsPort}`,
    /** The authority of its certificate; only with the option `https`. */
    caFile,
    ca: () => readFileSync(caFile, 'utf8'),
    /** GET of a path of the admin port. */
    admin: async (path: string, how?: SendOptions) => await send(`${adminUrl}${path}`, how),
    /** Runs a command of the program against it, with `--admin`; resolves with stdout. */
    command: async (...words: readonly string[]) => {
      const script = `"$@" || test $? -eq 3`;
      // It reads the cluster, not a wrapper.
      const admin = words[0] === 'simulate' ? [] : ['--admin', adminListen];
      const all = [process.execPath, PROGRAM, ...words, ...admin];
      return await runCommand('sh', ['-c', script, 'sh', ...all]);
    },
  };
}
