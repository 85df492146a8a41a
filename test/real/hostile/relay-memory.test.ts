import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { dump } from 'js-yaml';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { kubeconfigFor } from '../../../fake-apiserver/kubeconfig.ts';
import { getStatus } from '../../../harness/api-server/http-status.ts';
import { writeServingFiles } from '../../../harness/certificates.ts';
import { inLanes, send } from '../../../harness/hostile/http.ts';
import { restoreManyServices } from '../../../harness/hostile/many-services.ts';
import { report } from '../../../harness/hostile/report.ts';
import { freePorts } from '../../../harness/network/free-port.ts';
import { PROGRAM } from '../../../harness/node/program.ts';
import {
  type ManagedProcess,
  startProcess,
  waitUntilReady,
} from '../../../harness/process/managed-process.ts';
import { peakMegabytes } from '../../../harness/process/process-figures.ts';
import { createSmallCluster, putSlice } from '../../support/wrapper/small-cluster.ts';

jest.setTimeout(600_000);

/** Of one user; the limit before was 3,072. */
const READS = 3_072;
const TOKENS = 64;
const SLICES =
  '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=!service.kubernetes.io%2Fheadless';
/** Resident memory that a relay may have under each of these attacks, in MB; its Pod may have 768. */
const MOST_MB = 400;
/** The same with 2,560 watches that do not read, from many addresses: each has a connection, and up to three blocks. */
const MOST_WATCHES_MB = 700;

let folder: string;
let cluster: ApiServer;
let relay: ManagedProcess;
let port: number;
let admin: string;
let sockets: TLSSocket[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kpw-hostile-relay-'));
  const authenticate = (token = '') => token.split('/')[0] ?? '';
  cluster = createSmallCluster({ authenticate });
  restoreManyServices(cluster, 5_000);
  writeFileSync(join(folder, 'kubeconfig'), kubeconfigFor(await cluster.listen(), 'relay'));
});

beforeEach(async () => {
  sockets = [];
  const [https = 0, adminPort = 0] = await freePorts(2);
  [port, admin] = [https, `127.0.0.1:${adminPort}`];
  const { certFile, keyFile } = await writeServingFiles(folder);
  const config = join(folder, 'relay.yaml');
  const kubeconfig = join(folder, 'kubeconfig');
  const listen = `127.0.0.1:${port}`;
  const settings = { kubeconfig, adminListen: admin, https: { listen, certFile, keyFile } };
  writeFileSync(config, dump({ nodeName: 'relay', ...settings }));
  relay = startProcess({
    name: 'relay',
    command: process.execPath,
    args: [PROGRAM, 'relay', '--config', config],
    logFile: join(folder, 'relay.log'),
  });
  const isReady = async () => (await getStatus(`http://${admin}/readyz`)) === 200;
  await waitUntilReady(relay, isReady);
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await relay?.stop('SIGKILL');
});

afterAll(async () => {
  await cluster?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens a connection; resolves with the status of the answer, 0 if there is none. Then it reads nothing more. */
function ask(path: string | undefined, token: string, localAddress = '127.0.0.1'): Promise<number> {
  return new Promise((resolve) => {
    const host = '127.0.0.1';
    const options = { host, port, localAddress, rejectUnauthorized: false };
    const socket = connect(options);
    sockets.push(socket);
    socket.on('error', () => resolve(0)).once('close', () => resolve(0));
    socket.once('secureConnect', () => {
      if (path === undefined) return resolve(0);
      const accept = 'application/vnd.kubernetes.protobuf';
      const lines = `Host: x\r\nAccept: ${accept}\r\nAuthorization: Bearer ${token}\r\n`;
      socket.write(`GET ${path} HTTP/1.1\r\n${lines}\r\n`);
    });
    socket.once('data', (head: Buffer) => {
      socket.pause();
      resolve(Number(/^HTTP\/1.1 (\d+)/.exec(head.toString('latin1', 0, 20))?.[1]));
    });
  });
}

/** Opens so many connections from so many addresses; returns how often each status was answered. */
async function attack(
  count: number,
  path: string | undefined,
  addresses = 1,
): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  const all = Array.from({ length: count }, (_, index) => index);
  await inLanes(all, 32, async (index) => {
    const from = `127.0.0.${2 + (index % addresses)}`;
    const status = await ask(path, `tenant/${index % TOKENS}`, from);
    statuses[status] = (statuses[status] ?? 0) + 1;
  });
  return statuses;
}

/** A node of another user is served as before, and the relay is well. */
async function expectServed(): Promise<void> {
  expect(await ask(`${SLICES}&resourceVersion=0`, 'node/1')).toBe(200);
  expect((await send(`http://${admin}/readyz`)).status).toBe(200);
}

function expectSmall(row: string, attack: string, idle: number, most = MOST_MB): void {
  const peak = peakMegabytes(relay.pid);
  report(row, `${idle} MB before, ${peak} MB at most with ${attack}`);
  expect(peak).toBeLessThanOrEqual(most);
}

test('H1: 3,072 lists that nobody reads cost no more than their share', async () => {
  const idle = peakMegabytes(relay.pid);
  const statuses = await attack(READS, `${SLICES}&resourceVersion=0`);
  await expectServed();
  expectSmall('H1', `${READS} lists (${JSON.stringify(statuses)})`, idle);
  expect(statuses[429]).toBeGreaterThan(READS / 2);
});

test.each([
  { addresses: 1, most: MOST_MB, accepted: 640 },
  { addresses: 8, most: MOST_WATCHES_MB, accepted: 2_560 },
])(
  'H1: 3,072 watches from $addresses addresses that nobody reads keep a block each, of large objects too',
  async ({ addresses, most, accepted }) => {
    const idle = peakMegabytes(relay.pid);
    const from = String(cluster.resourceVersion);
    const statuses = await attack(READS, `${SLICES}&watch=true&resourceVersion=${from}`, addresses);
    for (let n = 0; n < 30; n++) {
      const endpoints = Array.from({ length: 1_000 }, (_, i) => ({
        ip: `10.${n}.${i >> 8}.${i & 255}`,
        node: `${'x'.repeat(200)}-${i}`,
      }));
      putSlice(cluster, `fat-${n % 3}`, 'web', endpoints);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    await expectServed();
    expectSmall('H1', `${READS} watches (${JSON.stringify(statuses)})`, idle, most);
    expect(statuses[200]).toBe(accepted);
  },
);

test('H5: 4,128 connections without a request are closed beyond 1,024', async () => {
  const idle = peakMegabytes(relay.pid);
  await attack(4_128, undefined);
  await expectServed();
  expectSmall('H5', '4,128 silent connections', idle);
});
