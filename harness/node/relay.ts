import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import type { ControlPlane } from '../api-server/control-plane.ts';
import { getStatus } from '../api-server/http-status.ts';
import type { ServingCert } from '../api-server/serving-cert.ts';
import { freePorts } from '../network/free-port.ts';
import { type ManagedProcess, startProcess, waitUntilReady } from '../process/managed-process.ts';
import { PROGRAM } from './program.ts';

/** A relay as its users run it, at the address of the host. */
export interface RelayProcess {
  readonly url: string;
  readonly pid: number;
  /** HTTP status of /readyz; undefined: no answer. */
  ready(): Promise<number | undefined>;
  /** Starts it, at the same address as before, and waits until it is ready. */
  start(): Promise<void>;
  stop(signal: NodeJS.Signals): Promise<void>;
}

/** @param address of the host, which the certificate is for */
export async function createRelay(
  plane: ControlPlane,
  address: string,
  { certFile, keyFile }: ServingCert,
): Promise<RelayProcess> {
  const [port = 0, adminPort = 0] = await freePorts(2);
  const configFile = join(plane.folder, `relay-${port}.yaml`);
  const https = { listen: `${address}:${port}`, certFile, keyFile };
  const adminListen = `127.0.0.1:${adminPort}`;
  writeFileSync(configFile, dump({ nodeName: 'relay', https, adminListen }));
  const kubeconfig = plane.kubeconfig('wrapper');
  let running: ManagedProcess | undefined;
  const ready = async () => await getStatus(`http://${adminListen}/readyz`);
  return {
    url: `https://${address}:${port}`,
    get pid() {
      return running?.pid ?? 0;
    },
    ready,
    start: async () => {
      running = startProcess({
        name: `relay-${port}`,
        command: process.execPath,
        args: [PROGRAM, 'relay', '--kubeconfig', kubeconfig, '--config', configFile],
        logFile: join(plane.folder, `relay-${port}.log`),
      });
      await waitUntilReady(running, async () => (await ready()) === 200);
    },
    stop: async (signal) => await running?.stop(signal),
  };
}
