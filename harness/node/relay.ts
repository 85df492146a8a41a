import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { getStatus } from '../api-server/http-status.ts';
import type { ServingCert } from '../api-server/serving-cert.ts';
import { freePorts } from '../network/free-port.ts';
import { type ManagedProcess, startProcess, waitUntilReady } from '../process/managed-process.ts';
import { PROGRAM } from './program.ts';

export interface RelayProcessOptions {
  /** For its settings and its log. */
  readonly folder: string;
  readonly kubeconfig: string;
  /** Of the host, which the certificate is for. */
  readonly address: string;
  readonly cert: ServingCert;
}

/** A relay as its users run it, at the address of the host. */
export interface RelayProcess {
  readonly url: string;
  readonly pid: number;
  /** HTTP status of /readyz; undefined: no answer. */
  ready(): Promise<number | undefined>;
  /** Starts it, at the same address as before. */
  spawn(): void;
  /** Starts it, and waits until it is ready. */
  start(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  stop(signal: NodeJS.Signals): Promise<void>;
}

export async function createRelay(options: RelayProcessOptions): Promise<RelayProcess> {
  const { folder, kubeconfig, address, cert } = options;
  const [port = 0, adminPort = 0] = await freePorts(2);
  const configFile = join(folder, `relay-${port}.yaml`);
  const https = { listen: `${address}:${port}`, ...cert };
  const adminListen = `127.0.0.1:${adminPort}`;
  writeFileSync(configFile, dump({ nodeName: 'relay', https, adminListen }));
  let running: ManagedProcess | undefined;
  const ready = async () => await getStatus(`http://${adminListen}/readyz`);
  const spawn = (): ManagedProcess => {
    running = startProcess({
      name: `relay-${port}`,
      command: process.execPath,
      args: [PROGRAM, 'relay', '--kubeconfig', kubeconfig, '--config', configFile],
      logFile: join(folder, `relay-${port}.log`),
    });
    return running;
  };
  return {
    url: `https://${address}:${port}`,
    get pid() {
      return running?.pid ?? 0;
    },
    ready,
    spawn,
    start: async () => await waitUntilReady(spawn(), async () => (await ready()) === 200),
    signal: (signal) => void running?.child.kill(signal),
    stop: async (signal) => await running?.stop(signal),
  };
}
