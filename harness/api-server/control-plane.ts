import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Binaries, ensureBinaries } from '../process/binaries.ts';
import { ensureOsPackages } from '../process/os-packages.ts';
import { withCleanups } from '../with-cleanups.ts';
import { createApiClient } from './api.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { type AuditRules, type RequestFilter, readAuditLog } from './audit-log.ts';
import { type Etcd, startEtcd } from './etcd.ts';
import { type KubeconfigOptions, writeKubeconfig } from './kubeconfig.ts';
import { createKubectl } from './kubectl.ts';
import { writeTokenFile } from './token-file.ts';
import { grantWrapperRole } from './wrapper-role.ts';

/** Who a token belongs to. */
export type TestUser = keyof typeof testUsers;

/** Users of the API server, by name. */
export const testUsers = {
  /** May do all. */
  admin: 'test:admin',
  /** Has the bootstrap role system:node-proxier. */
  kubeProxy: 'system:kube-proxy',
  /** See wrapper-role.ts. */
  wrapper: 'system:kube-proxy-wrapper',
  /** Is authenticated and may do nothing. */
  nobody: 'test:nobody',
} as const;

/** An etcd and an API server. Nobody makes endpoint slices but the tests. */
export type ControlPlane = ReturnType<typeof describePlane> & { stop(): Promise<void> };

export interface ControlPlaneOptions {
  /** Flags of the API server on top of ours, such as `--feature-gates=WatchList=false`. */
  readonly apiServerArgs?: readonly string[];
  /** What the audit log has; default: see audit-log.ts. */
  readonly auditRules?: AuditRules;
  /** Programs in place of those that the harness builds, such as an API server of another version. */
  readonly binaries?: Partial<Binaries>;
}

/** Starts a control plane with data of its own, ready to be used. Takes 5 to 10 seconds. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { apiServerArgs = [], auditRules } = options;
  await ensureOsPackages();
  const binaries = { ...(await ensureBinaries()), ...options.binaries };
  return await withCleanups(async (cleanups) => {
    const folder = await mkdtemp(join(tmpdir(), 'kpw-control-plane-'));
    cleanups.defer(() => rm(folder, { recursive: true, force: true }));
    const etcd = await startEtcd(binaries.etcd, folder);
    cleanups.defer(() => etcd.stop('SIGKILL'));
    const tokenFile = join(folder, 'tokens.csv');
    const tokens = writeTokenFile(tokenFile, {
      admin: { user: testUsers.admin, group: 'system:masters' },
      kubeProxy: { user: testUsers.kubeProxy },
      wrapper: { user: testUsers.wrapper },
      nobody: { user: testUsers.nobody },
    });
    const start = async (into: string) => {
      const apiServer = await startApiServer({
        binary: binaries.kubeApiserver,
        folder: into,
        etcdUrl: etcd.url,
        tokenFile,
        extraArgs: apiServerArgs,
        auditRules,
      });
      cleanups.defer(() => apiServer.stop('SIGKILL'));
      return apiServer;
    };
    const apiServer = await start(folder);
    const startAnother = async () => await start(await mkdtemp(join(folder, 'another-')));
    const plane = describePlane({ binaries, folder, tokens, apiServer, startAnother, etcd });
    cleanups.defer(() => plane.admin.close());
    await grantWrapperRole(plane.admin, testUsers.wrapper);
    return plane;
  });
}

interface PlaneParts {
  readonly binaries: Binaries;
  readonly folder: string;
  readonly tokens: Readonly<Record<TestUser, string>>;
  readonly apiServer: ApiServer;
  readonly startAnother: () => Promise<ApiServer>;
  readonly etcd: Etcd;
}

function describePlane(parts: PlaneParts) {
  const { binaries, folder, tokens, apiServer, startAnother, etcd } = parts;
  const { url: server, caFile, auditLogFile } = apiServer;
  let files = 0;
  const kubeconfig = (user: TestUser, options: Partial<KubeconfigOptions> = {}) => {
    files += 1;
    const path = join(folder, `${user}-${files}.kubeconfig`);
    writeKubeconfig(path, { server, caFile, token: tokens[user], ...options });
    return path;
  };
  return {
    /** It can be stopped, started and frozen. */
    apiServer,
    /** Starts one more API server, with the same etcd and a certificate of its own. */
    startAnother,
    /** What the API server keeps its data in. */
    etcd,
    /** `https://127.0.0.1:<port>`; inside a node's namespace use `serverAt`. */
    server,
    caFile,
    tokens,
    binaries,
    /** Folder for files of the test; removed by stop. */
    folder,
    admin: createApiClient({ server, ca: readFileSync(caFile), token: tokens.admin }),
    /** URL of the API server at one of our own addresses, such as a namespace's hostAddress. */
    serverAt: (address: string) => `https://${address}:${apiServer.port}`,
    /** Writes a kubeconfig with the user's token and returns its path. Default server: ours. */
    kubeconfig,
    /** As an administrator. */
    kubectl: createKubectl(binaries.kubectl, kubeconfig('admin')),
    /** Requests that the API server has answered, or begun to answer if they are watches. */
    requests: (filter?: RequestFilter) => readAuditLog(auditLogFile, filter),
  };
}
