import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import type { ApiClient } from '../../../../harness/api-server/api.ts';
import { createService, createSlice } from '../../../../harness/api-server/cluster-objects.ts';
import { getStatus } from '../../../../harness/api-server/http-status.ts';
import { writeKubeconfig } from '../../../../harness/api-server/kubeconfig.ts';
import { makeServingCert } from '../../../../harness/api-server/serving-cert.ts';
import { type ServingFiles, writeServingFiles } from '../../../../harness/certificates.ts';
import { persist } from '../../../../harness/history/persist.ts';
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
/** Their Service is in a namespace that no history has. */
export const RELAY_NAMESPACE = 'kube-system';
const SERVICE = 'relay';

/** A relay as its users run it, between the wrapper and the front of the API server. */
export interface RelayUnderTest {
  readonly url: string;
  /** Its way to the front of the API server. */
  readonly link: TcpFront;
  /** When it was started, of performance.now(). */
  readonly starts: readonly number[];
  /** Starts it, at the same address as before. */
  start(): ManagedProcess;
  /** Takes it out of the Service of the relays, or puts it back. */
  list(isListed: boolean): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  stop(signal: NodeJS.Signals): Promise<void>;
}

export interface RelayOptions {
  readonly folder: string;
  /** Of the authority that issued the certificate of the front. */
  readonly caFile: string;
  /** Address of the front, and of the relays; default: 127.0.0.1, and one for each relay. */
  readonly host?: string;
  /** Default: each has its own. */
  readonly token?: string;
  /** Wrappers find the relays by their Service, which this client writes. Default: by their URLs. */
  readonly api?: (() => ApiClient) | undefined;
}

/** Starts relays, which have the same API server as the wrapper, and waits until they are ready. */
export async function startRelays(
  count: number,
  front: Pick<FaultFront, 'url'>,
  options: RelayOptions,
) {
  const { folder, caFile, host = HOST, api } = options;
  return await withCleanups(async (cleanups) => {
    const files = api === undefined ? await certifyHost(folder, host) : await certifyName(folder);
    const { certFile, keyFile, ...authority } = files;
    if (api !== undefined && count > 0) await createRelayService(api());
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
      const address = options.host ?? `127.0.0.${all.length + 1}`;
      const https = { listen: `${address}:${port}`, certFile, keyFile };
      const adminListen = `${HOST}:${adminPort}`;
      writeFileSync(`${name}.yaml`, dump({ nodeName: 'relay', https, adminListen }));
      const url = `https://${https.listen}`;
      const list = api === undefined ? cannotList : await listIn(api, address, port);
      const relay = { ...describeRelay(name, url, link), list };
      cleanups.defer(() => relay.stop('SIGKILL'));
      all.push(relay);
      const readyz = async () => (await getStatus(`http://${adminListen}/readyz`)) === 200;
      ready.push(waitUntilReady(relay.start(), readyz));
    }
    await Promise.all(ready);
    const servers = all.map(({ url }) => url);
    const found = api === undefined ? { servers } : { service: `${RELAY_NAMESPACE}/${SERVICE}` };
    const relays = { ...found, ...authority };
    return {
      all,
      /** Settings of a wrapper behind them. */
      settings: count === 0 ? {} : { relays },
    };
  });
}

/** A certificate for the host of their URLs. */
async function certifyHost(folder: string, host: string): Promise<ServingFiles> {
  const cert = await makeServingCert(folder, 'relay', [host]);
  return { ...cert, caFile: cert.certFile };
}

/** A certificate for the name of their Service. */
async function certifyName(folder: string): Promise<ServingFiles> {
  return await writeServingFiles(folder, `${SERVICE}.${RELAY_NAMESPACE}.svc`);
}

/** Its policy selects all relays. */
async function createRelayService(api: ApiClient): Promise<void> {
  await createService(api, {
    name: SERVICE,
    namespace: RELAY_NAMESPACE,
    annotations: { topologyKeys: '["*"]' },
    ports: [{ name: 'https', port: 443 }],
  });
}

/** Puts a relay into the Service; returns how to take it out and put it back. */
async function listIn(
  api: () => ApiClient,
  address: string,
  port: number,
): Promise<RelayUnderTest['list']> {
  const name = `${SERVICE}-${port}`;
  const endpoints = [{ addresses: [address], conditions: { ready: true } }];
  const ports = [{ name: 'https', protocol: 'TCP', port }];
  const object = { name, namespace: RELAY_NAMESPACE, service: SERVICE, endpoints, ports };
  await createSlice(api(), object);
  const path = `/apis/discovery.k8s.io/v1/namespaces/${RELAY_NAMESPACE}/endpointslices/${name}`;
  return async (isListed) => {
    const patch = { endpoints: isListed ? endpoints : [] };
    await persist(async () => void (await api().patch(path, patch)));
  };
}

async function cannotList(): Promise<never> {
  throw new Error('these relays have no Service');
}

/** @param name path of its files, without the suffix */
function describeRelay(name: string, url: string, link: TcpFront): Omit<RelayUnderTest, 'list'> {
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
