import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { getStatus } from '../../../../harness/api-server/http-status.ts';
import { writeKubeconfig } from '../../../../harness/api-server/kubeconfig.ts';
import { makeServingCert } from '../../../../harness/api-server/serving-cert.ts';
import { freePorts } from '../../../../harness/network/free-port.ts';
import { startTcpFront, type TcpFront } from '../../../../harness/network/tcp-front.ts';
import { PROGRAM } from '../../../../harness/node/program.ts';
import {
  type ManagedProcess,
  startProcess,
  waitUntilReady,
} from '../../../../harness/process/managed-process.ts';
import { withCleanups } from '../../../../harness/with-cleanups.ts';
import type { FaultFront } from '../fault-front.ts';

const HOST = '127.0.0.1';

/** A relay as its users run it, between the wrapper and the front of the API server. */
export interface RelayUnderTest {
  readonly url: string;
  /** Its way to the front of the API server. */
  readonly link: TcpFront;
  /** When it was started, of performance.now(). */
  readonly starts: readonly number[];
  /** Starts it, at the same address as before. */
  start(): ManagedProcess;
  signal(signal: NodeJS.Signals): void;
  stop(signal: NodeJS.Signals): Promise<void>;
}

export interface RelayOptions {
  readonly folder: string;
  /** Of the authority that issued the certificate of the front. */
  readonly caFile: string;
  /** Address of the front, and of the relays; default: 127.0.0.1. */
  readonly host?: string;
  /** Default: each has its own. */
  readonly token?: string;
}

/** Starts relays, which have the same API server as the wrapper, and waits until they are ready. */
export async function startRelays(
  count: number,
  front: Pick<FaultFront, 'url'>,
  options: RelayOptions,
) {
  const { folder, caFile, host = HOST } = options;
  return await withCleanups(async (cleanups) => {
    const cert = await makeServingCert(folder, 'relay', [host]);
    const all: RelayUnderTest[] = [];
    const ready: Promise<void>[] = [];
    while (all.length < count) {
      const [port = 0, adminPort = 0, linkPort = 0] = await freePorts(3);
      const target = { host, port: Number(new URL(front.url).port) };
      const link = await startTcpFront({ listen: { host, port: linkPort }, target });
      cleanups.defer(() => link.stop());
      const name = join(folder, `relay-${port}`);
      const server = `https://${host}:${linkPort}`;
      const { token = `relay-${port}` } = options;
      writeKubeconfig(`${name}.kubeconfig`, { server, caFile, token });
      const https = { listen: `${host}:${port}`, ...cert };
      const adminListen = `${HOST}:${adminPort}`;
      writeFileSync(`${name}.yaml`, dump({ nodeName: 'relay', https, adminListen }));
      const relay = describeRelay(name, `https://${https.listen}`, link);
      cleanups.defer(() => relay.stop('SIGKILL'));
      all.push(relay);
      const readyz = async () => (await getStatus(`http://${adminListen}/readyz`)) === 200;
      ready.push(waitUntilReady(relay.start(), readyz));
    }
    await Promise.all(ready);
    const servers = all.map(({ url }) => url);
    const relays = { servers, caFile: cert.certFile };
    return {
      all,
      /** Settings of a wrapper behind them. */
      settings: count === 0 ? {} : { relays },
    };
  });
}

/** @param name path of its files, without the suffix */
function describeRelay(name: string, url: string, link: TcpFront): RelayUnderTest {
  const starts: number[] = [];
  const args = [PROGRAM, 'relay', '--kubeconfig', `${name}.kubeconfig`];
  args.push('--config', `${name}.yaml`);
  let running: ManagedProcess | undefined;
  return {
    url,
    link,
    starts,
    start: () => {
      starts.push(performance.now());
      const logFile = `${name}.log`;
      running = startProcess({ name: 'relay', command: process.execPath, args, logFile });
      return running;
    },
    signal: (signal) => void running?.child.kill(signal),
    stop: async (signal) => await running?.stop(signal),
  };
}
