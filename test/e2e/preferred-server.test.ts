import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type HostWrapper, startHostWrapper } from '../security/hostile/support/host-wrapper.ts';
import { send } from '../security/hostile/support/http.ts';
import { startTcpRelay, type TcpRelay } from '../support/http/tcp-relay.ts';
import { type ApiServer, startApiServer } from './support/api-server.ts';
import { readAuditLog } from './support/audit-log.ts';
import { createNode, createService } from './support/cluster-objects.ts';
import { type ControlPlane, startControlPlane, testUsers } from './support/control-plane.ts';
import { eventually } from './support/eventually.ts';

jest.setTimeout(180_000);

const NODE = 'here';
const SERVICES = '/api/v1/services';

/** Two API servers of one cluster: `preferred` reaches etcd by a relay, and is reached by another one. */
let plane: ControlPlane;
let preferred: ApiServer;
let toEtcd: TcpRelay;
let toPreferred: TcpRelay;
let wrapper: HostWrapper;

beforeAll(async () => {
  plane = await startControlPlane({ controllers: false });
  await createNode(plane.admin, NODE, {});
  const folder = join(plane.folder, 'preferred');
  mkdirSync(folder);
  toEtcd = await startTcpRelay(plane.etcd.url);
  preferred = await startApiServer({
    binary: plane.binaries.kubeApiserver,
    folder,
    etcdUrl: toEtcd.url,
    tokenFile: join(plane.folder, 'tokens.csv'),
    clientCaFile: plane.clientCaFile,
    extraArgs: [],
  });
  toPreferred = await startTcpRelay(preferred.url);
  const caFile = join(folder, 'both.crt');
  writeFileSync(
    caFile,
    readFileSync(plane.caFile, 'utf8') + readFileSync(preferred.caFile, 'utf8'),
  );
  wrapper = await startHostWrapper({
    kubeconfig: plane.kubeconfig('wrapper', { server: toPreferred.url, caFile }),
    nodeName: NODE,
    settings: { servers: [plane.server] },
  });
});

afterAll(async () => {
  await wrapper?.stop();
  await toPreferred?.close();
  await preferred?.stop('SIGKILL');
  await toEtcd?.close();
  await plane?.stop();
});

const watchesOf = (auditLogFile: string, since: number): number =>
  readAuditLog(auditLogFile, { user: testUsers.wrapper, verb: 'watch', since }).length;

const shows = async (service: string): Promise<boolean> => {
  const { body } = await send(wrapper.url + SERVICES, { headers: { accept: 'application/json' } });
  return body.includes(`"${service}"`);
};

const create = (name: string) => createService(plane.admin, { name, ports: [{ port: 80 }] });

/** Whether the preferred API server answers a read that needs etcd. */
const reads = async (): Promise<boolean> => {
  const path = `/api/v1/namespaces/default`;
  const how = { token: plane.tokens.admin, ca: readFileSync(preferred.caFile), timeoutMs: 1_000 };
  return (await send(preferred.url + path, how)).status === 200;
};

test('watches go to the preferred API server again when it has its etcd, and not before', async () => {
  await create('first');
  await eventually(
    () => shows('first'),
    (shown) => shown,
  );
  await eventually(
    () => watchesOf(preferred.auditLogFile, 0),
    (open) => open > 1,
  );
  expect(watchesOf(plane.apiServer.auditLogFile, 0)).toBe(0);

  // The preferred server is unreachable; when it is reachable again, its etcd is not.
  await toPreferred.refuse();
  toPreferred.cut();
  await create('second');
  await eventually(
    () => shows('second'),
    (shown) => shown,
    { timeoutMs: 20_000 },
  );
  await eventually(
    () => watchesOf(plane.apiServer.auditLogFile, 0),
    (open) => open > 1,
  );
  await toEtcd.refuse();
  toEtcd.cut();
  await eventually(reads, (answers) => !answers);
  const withoutEtcd = Date.now();
  await toPreferred.accept();
  for (const name of ['third', 'fourth', 'fifth']) {
    await sleep(5_000);
    await create(name);
    await eventually(
      () => shows(name),
      (shown) => shown,
    );
  }
  expect(watchesOf(preferred.auditLogFile, withoutEtcd)).toBe(0);

  await toEtcd.accept();
  await eventually(reads, (answers) => answers, { timeoutMs: 30_000 });
  const withEtcd = Date.now();
  const wanted = watchesOf(plane.apiServer.auditLogFile, 0);
  const { elapsedMs } = await eventually(
    () => watchesOf(preferred.auditLogFile, withoutEtcd),
    (moved) => moved >= wanted,
    { timeoutMs: 10_000 },
  );
  process.stdout.write(`${wanted} watches moved within ${elapsedMs} ms\n`);
  await create('sixth');
  await eventually(
    () => shows('sixth'),
    (shown) => shown,
  );
  expect(watchesOf(plane.apiServer.auditLogFile, withEtcd)).toBe(0);
});
