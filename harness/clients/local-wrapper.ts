import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeServingFiles } from '../certificates.ts';
import { freePorts } from '../network/free-port.ts';
import { PROGRAM, runArgs } from '../node/program.ts';
import { type ManagedProcess, startProcess, waitUntilReady } from '../process/managed-process.ts';

/** A wrapper on loopback with both listeners, whose process is replaced. It needs no rights of root. */
export type LocalWrapper = Awaited<ReturnType<typeof startLocalWrapper>>;

/** How long the last process waits for the next one, in seconds. */
const HANDOVER_SECONDS = 30;
/** How long it may drain after that, in milliseconds. */
const DRAIN_MS = 30_000;
const LISTENING = '"msg":"listening"';

export async function startLocalWrapper(folder: string, kubeconfig: string, nodeName: string) {
  const [port, httpsPort, adminPort] = await freePorts(3);
  const { caFile, certFile, keyFile } = await writeServingFiles(folder);
  const https = { listen: `127.0.0.1:${httpsPort}`, certFile, keyFile };
  const configFile = join(folder, 'wrapper.yaml');
  writeFileSync(configFile, JSON.stringify({ handoverSeconds: HANDOVER_SECONDS, https }));
  const addresses = { listen: `127.0.0.1:${port}`, adminListen: `127.0.0.1:${adminPort}` };
  const args = [PROGRAM, ...runArgs({ kubeconfig, nodeName, configFile, ...addresses })];
  let count = 0;
  const start = async (): Promise<ManagedProcess> => {
    count += 1;
    const name = `wrapper-${count}`;
    const logFile = join(folder, `${name}.log`);
    const started = startProcess({ name, command: process.execPath, args, logFile });
    await waitUntilReady(started, async () => started.log().includes(LISTENING));
    return started;
  };
  let current = await start();
  return {
    url: `http://127.0.0.1:${port}`,
    httpsUrl: `https://127.0.0.1:${httpsPort}`,
    caFile,
    /** Kills the process, and starts the next one. */
    restart: async (): Promise<void> => {
      await current.stop('SIGKILL');
      current = await start();
    },
    /** Ends the process as the kubelet does, beside the next one: no connection is refused. */
    replace: async (): Promise<void> => {
      const last = current;
      const started = start();
      await last.stop('SIGTERM', HANDOVER_SECONDS * 1000 + DRAIN_MS);
      current = await started;
    },
    stop: async (): Promise<void> => await current.stop('SIGKILL'),
  };
}
