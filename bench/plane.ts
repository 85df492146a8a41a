import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiClient } from '../test/e2e/support/api.ts';
import { startApiServer } from '../test/e2e/support/api-server.ts';
import {
  type AuditedRequest,
  auditPolicy,
  type RequestFilter,
  readAuditLog,
} from '../test/e2e/support/audit-log.ts';
import { ensureBinaries } from '../test/e2e/support/binaries.ts';
import { testUsers } from '../test/e2e/support/control-plane.ts';
import { startEtcd } from '../test/e2e/support/etcd.ts';
import { writeKubeconfig } from '../test/e2e/support/kubeconfig.ts';
import { ensureOsPackages } from '../test/e2e/support/os-packages.ts';
import { grantWrapperRole } from '../test/e2e/support/wrapper-role.ts';

/** An API server whose etcd we may write to: without controllers, and with room for many Services. */
export interface BenchPlane {
  readonly server: string;
  readonly caFile: string;
  readonly etcdUrl: string;
  readonly tokens: Tokens;
  /** Folder for files and logs; removed by stop. */
  readonly folder: string;
  /** URL of the API server at one of our own addresses, such as a namespace's hostAddress. */
  serverAt(address: string): string;
  /** Writes a kubeconfig of the wrapper and returns its path. */
  wrapperKubeconfig(server: string): string;
  /** Requests that the API server has answered, or begun to answer if they are watches. */
  requests(filter: RequestFilter): AuditedRequest[];
  stop(): Promise<void>;
}

type Tokens = Readonly<Record<'admin' | 'kubeProxy' | 'wrapper', string>>;

/**
 * @param progress gets a line for each program that has to be built.
 * @param apiServerArgs more flags of the API server
 */
export async function startBenchPlane(
  progress: (line: string) => void,
  apiServerArgs: readonly string[] = [],
): Promise<BenchPlane> {
  await ensureOsPackages({ openssl: 'openssl', setpriv: 'util-linux' });
  const binaries = await ensureBinaries(progress);
  const folder = await mkdtemp(join(tmpdir(), 'kpw-bench-'));
  const cleanups = [async () => await rm(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const etcd = await startEtcd(binaries.etcd, folder);
    cleanups.push(async () => await etcd.stop('SIGKILL'));
    const tokens = makeTokens();
    const apiServer = await startApiServer({
      binary: binaries.kubeApiserver,
      folder,
      etcdUrl: etcd.url,
      tokenFile: writeTokenFile(folder, tokens),
      // If a flag is given twice, the last one counts.
      extraArgs: [
        // Room for more Services than the 65,000 of the harness.
        '--service-cluster-ip-range=10.64.0.0/12',
        `--audit-policy-file=${writeAuditPolicy(folder)}`,
        ...apiServerArgs,
      ],
    });
    cleanups.push(async () => await apiServer.stop('SIGKILL'));
    const { url: server, caFile } = apiServer;
    await grantRole(server, caFile, tokens.admin);
    const serverAt = (address: string) => `https://${address}:${apiServer.port}`;
    const etcdUrl = etcd.url;
    const wrapperKubeconfig = (server: string) => {
      const path = join(folder, `wrapper-${new URL(server).port}.kubeconfig`);
      writeKubeconfig(path, { server, caFile, token: tokens.wrapper });
      return path;
    };
    const requests = (filter: RequestFilter) => readAuditLog(apiServer.auditLogFile, filter);
    return {
      server,
      serverAt,
      caFile,
      etcdUrl,
      tokens,
      folder,
      wrapperKubeconfig,
      requests,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function grantRole(server: string, caFile: string, token: string): Promise<void> {
  const admin = createApiClient({ server, ca: readFileSync(caFile), token });
  await grantWrapperRole(admin, testUsers.wrapper);
  admin.close();
}

/** All requests of those that are compared, the ones for no resource among them, and of nobody else. */
function writeAuditPolicy(folder: string): string {
  const path = join(folder, 'bench-audit-policy.json');
  const users = [testUsers.kubeProxy, testUsers.wrapper];
  const rules = [{ level: 'Metadata', users }, { level: 'None' }];
  writeFileSync(path, JSON.stringify({ ...auditPolicy, rules }));
  return path;
}

function makeTokens(): Tokens {
  const token = () => randomBytes(16).toString('hex');
  return { admin: token(), kubeProxy: token(), wrapper: token() };
}

/** Lines of `token,user,uid,"groups"`, as kube-apiserver's --token-auth-file wants them. */
function writeTokenFile(folder: string, tokens: Tokens): string {
  const lines = [
    `${tokens.admin},${testUsers.admin},admin,system:masters`,
    `${tokens.kubeProxy},${testUsers.kubeProxy},kubeProxy`,
    `${tokens.wrapper},${testUsers.wrapper},wrapper`,
  ];
  const path = join(folder, 'tokens.csv');
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 });
  return path;
}
