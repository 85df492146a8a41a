import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import type { ApiClient } from '../../../../harness/api-server/api.ts';
import { createService, createSlice } from '../../../../harness/api-server/cluster-objects.ts';
import { getStatus } from '../../../../harness/api-server/http-status.ts';
import { writeKubeconfig } from '../../../../harness/api-server/kubeconfig.ts';
import { writeServingFiles } from '../../../../harness/certificates.ts';
import { persist } from '../../../../harness/history/persist.ts';
import { freePorts } from '../../../../harness/network/free-port.ts';
import { startTcpFront, type TcpFront } from '../../../../harness/network/tcp-front.ts';
import { PROGRAM } from '../../../../harness/node/program.ts';
import { poll } from '../../../../harness/poll.ts';
import {
  type ManagedProcess,
  startProcess,
  waitUntilReady,
} from '../../../../harness/process/managed-process.ts';
import { withCleanups } from '../../../../harness/with-cleanups.ts';
import type { FaultFront } from '../fault-front.ts';
import type { WrapperUnderTest } from '../wrapper-under-test.ts';

const HOST = '127.0.0.1';
/** Their Service is in a namespace that no history has. */
export const RELAY_NAMESPACE = 'kube-system';
const SERVICE = 'relay';

/** A relay as its users run it, between the wrapper and the front of the API server. */
export interface RelayUnderTest {
  /** `ip:port` */
  readonly address: string;
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
  /** Writes their Service, by which wrappers find them. */
  readonly api: () => ApiClient;
}

/** Starts relays, which have the same API server as the wrapper, and waits until they are ready. */
export async function startRelays(
  count: number,
  front: Pick<FaultFront, 'url'>,
  options: RelayOptions,
) {
  const { folder, caFile, host = HOST, api } = options;
  return await withCleanups(async (cleanups) => {
    const name = `${SERVICE}.${RELAY_NAMESPACE}.svc`;
    const { certFile, keyFile, ...authority } = await writeServingFiles(folder, name);
    if (count > 0) await createRelayService(api());
    const all: RelayUnderTest[] = [];
    const ready: Promise<void>[] = [];
    while (all.length < count) {
      const [port = 0, adminPort = 0, linkPort = 0] = await freePorts(3);
      const target = { host, port: Number(new URL(front.url).port) };
      const link = await startTcpFront({ listen: { host, port: linkPort }, target });
      cleanups.defer(() => link.stop());
      const files = join(folder, `relay-${port}`);
      const server = `https://${host}:${linkPort}`;
      const { token = `relay-${port}` } = options;
      writeKubeconfig(`${files}.kubeconfig`, { server, caFile, token });
      const ip = options.host ?? `127.0.0.${all.length + 1}`;
      const listen = `${ip}:${port}`;
      const https = { listen, certFile, keyFile };
      const adminListen = `${HOST}:${adminPort}`;
      writeFileSync(`${files}.yaml`, dump({ nodeName: 'relay', https, adminListen }));
      const list = await listIn(api, ip, port);
      const relay = { ...describeRelay(files, listen, link), list };
      cleanups.defer(() => relay.stop('SIGKILL'));
      all.push(relay);
      const readyz = async () => (await getStatus(`http://${adminListen}/readyz`)) === 200;
      ready.push(waitUntilReady(relay.start(), readyz));
    }
    await Promise.all(ready);
    const relays = { service: `${RELAY_NAMESPACE}/${SERVICE}`, ...authority };
    return {
      all,
      /** Settings of a wrapper behind them. */
      settings: count === 0 ? {} : { relays },
    };
  });
}

/** Waits until the wrapper reads from a relay; resolves with its `ip:port`. */
export async function untilRelayInUse(
  wrapper: WrapperUnderTest,
  relays: readonly RelayUnderTest[],
): Promise<string> {
  const addresses = relays.map(({ address }) => address);
  const server = async () => (await wrapper.server()) ?? '';
  const isRelay = (address: string) => addresses.includes(address);
  const { value } = await poll(server, isRelay, { timeoutMs: 60_000, what: 'the use of a relay' });
  return value;
}

/** What an informer of slices holds of relays that are all in their Service. */
export function rowsOfRelays(relays: readonly RelayUnderTest[]) {
  return relays.map(({ address }) => {
    const [ip = '', port = ''] = address.split(':');
    return [`${RELAY_NAMESPACE}/${sliceName(port)}`, [ip]] as const;
  });
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
  ip: string,
  port: number,
): Promise<RelayUnderTest['list']> {
  const name = sliceName(port);
  const endpoints = [{ addresses: [ip], conditions: { ready: true } }];
  const ports = [{ name: 'https', protocol: 'TCP', port }];
  const object = { name, namespace: RELAY_NAMESPACE, service: SERVICE, endpoints, ports };
  await createSlice(api(), object);
  const path = `/apis/discovery.k8s.io/v1/namespaces/${RELAY_NAMESPACE}/endpointslices/${name}`;
  return async (isListed) => {
    const patch = { endpoints: isListed ? endpoints : [] };
    await persist(async () => void (await api().patch(path, patch)));
  };
}

function sliceName(port: number | string): string {
  return `${SERVICE}-${port}`;
}

/** @param files their path, without the suffix */
function describeRelay(
  files: string,
  address: string,
  link: TcpFront,
): Omit<RelayUnderTest, 'list'> {
  const starts: number[] = [];
  const args = [PROGRAM, 'relay', '--kubeconfig', `${files}.kubeconfig`];
  args.push('--config', `${files}.yaml`);
  let running: ManagedProcess | undefined;
  return {
    address,
    link,
    starts,
    start: () => {
      starts.push(performance.now());
      const logFile = `${files}.log`;
      running = startProcess({ name: 'relay', command: process.execPath, args, logFile });
      return running;
    },
    signal: (signal) => void running?.child.kill(signal),
    stop: async (signal) => await running?.stop(signal),
  };
}
