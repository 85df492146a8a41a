import { join } from 'node:path';
import { writeKubeconfig } from '../../../../harness/api-server/kubeconfig.ts';
import { makeServingCert } from '../../../../harness/api-server/serving-cert.ts';
import { freePorts } from '../../../../harness/network/free-port.ts';
import { startTcpFront, type TcpFront } from '../../../../harness/network/tcp-front.ts';
import { createRelay, type RelayProcess } from '../../../../harness/node/relay.ts';
import type { FaultFront } from '../fault-front.ts';

/** A relay of a history. */
export interface RelayUnderTest {
  readonly process: RelayProcess;
  /** Its way to the front of the API server. */
  readonly link: TcpFront;
  /** When it was started, of performance.now(). */
  readonly starts: number[];
}

export interface RelaysUnderTest {
  readonly all: readonly RelayUnderTest[];
  /** Settings of a wrapper behind them. */
  readonly settings: { readonly relays?: object };
  stop(): Promise<void>;
}

/** Starts relays, which have the same API server as the wrapper, and waits until they are ready. */
export async function startRelays(
  count: number,
  { url }: FaultFront,
  { folder, caFile }: { readonly folder: string; readonly caFile: string },
): Promise<RelaysUnderTest> {
  if (count === 0) return { all: [], settings: {}, stop: async () => {} };
  const address = '127.0.0.1';
  const cert = await makeServingCert(folder, 'relay', [address]);
  const all: RelayUnderTest[] = [];
  for (let index = 0; index < count; index++) {
    const [port = 0] = await freePorts(1);
    const target = { host: address, port: Number(new URL(url).port) };
    const link = await startTcpFront({ listen: { host: address, port }, target });
    const kubeconfig = join(folder, `relay-${index}.kubeconfig`);
    const server = `https://${address}:${port}`;
    writeKubeconfig(kubeconfig, { server, caFile, token: `relay-${index}` });
    const process = await createRelay({ folder, kubeconfig, address, cert });
    all.push({ process, link, starts: [] });
  }
  await Promise.all(all.map(({ process }) => process.start()));
  const servers = all.map(({ process }) => process.url);
  return {
    all,
    settings: { relays: { servers, caFile: cert.certFile } },
    stop: async () => {
      for (const { process, link } of all) {
        await process.stop('SIGKILL');
        await link.stop();
      }
    },
  };
}
