import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiClient } from './api.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { type RequestFilter, readAuditLog } from './audit-log.ts';
import { type Binaries, ensureBinaries } from './binaries.ts';
import { type ClientCertAuthority, createClientCertAuthority } from './client-certs.ts';
import { startControllerManager } from './controller-manager.ts';
import { type Etcd, startEtcd } from './etcd.ts';
import { type KubeconfigOptions, writeKubeconfig } from './kubeconfig.ts';
import { ensureOsPackages } from './os-packages.ts';
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

/** An etcd, an API server and, if asked for, the controllers that make endpoint slices. */
export type ControlPlane = ReturnType<typeof describePlane>;

export interface ControlPlaneOptions {
  /** Start the controllers of Endpoints and EndpointSlices. Default true. */
  readonly controllers?: boolean;
  /** Flags of the API server on top of ours, such as `--feature-gates=WatchList=false`. */
  readonly apiServerArgs?: readonly string[];
  /** Programs in place of those that the harness builds, such as an API server of another version. */
  readonly binaries?: Partial<Binaries>;
}

/** Starts a control plane with data of its own, ready to be used. Takes 5 to 10 seconds. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { controllers = true, apiServerArgs = [] } = options;
  await ensureOsPackages();
  const binaries = { ...(await ensureBinaries()), ...options.binaries };
  const folder = await mkdtemp(join(tmpdir(), 'kpw-control-plane-'));
  const cleanups: Cleanup[] = [async () => await rm(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const etcd = await startEtcd(binaries.etcd, folder);
    cleanups.push(async () => await etcd.stop('SIGKILL'));
    const tokens = makeTokens();
    const clientCerts = await createClientCertAuthority(folder);
    const apiServer = await startApiServer({
      binary: binaries.kubeApiserver,
      folder,
      etcdUrl: etcd.url,
      tokenFile: writeTokenFile(folder, tokens),
      clientCaFile: clientCerts.caFile,
      extraArgs: apiServerArgs,
    });
    cleanups.push(async () => await apiServer.stop('SIGKILL'));
    const plane = describePlane({ binaries, folder, tokens, clientCerts, apiServer, etcd, stop });
    cleanups.push(async () => plane.admin.close());
    await grantWrapperRole(plane.admin, testUsers.wrapper);
    if (controllers) cleanups.push(await startControllers(plane, tokens));
    return plane;
  } catch (error) {
    await stop();
    throw error;
  }
}

type Cleanup = () => Promise<void>;
type Tokens = Readonly<Record<TestUser | 'controllers', string>>;

interface PlaneParts {
  readonly binaries: Binaries;
  readonly folder: string;
  readonly tokens: Tokens;
  readonly clientCerts: ClientCertAuthority;
  readonly apiServer: ApiServer;
  readonly etcd: Etcd;
  readonly stop: () => Promise<void>;
}

function describePlane(parts: PlaneParts) {
  const { binaries, folder, tokens, clientCerts, apiServer, etcd, stop } = parts;
  const { url: server, caFile, auditLogFile } = apiServer;
  let files = 0;
  return {
    /** It can be stopped, started and frozen. */
    apiServer,
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
    kubeconfig: (user: TestUser, options: Partial<KubeconfigOptions> = {}) => {
      files += 1;
      const path = join(folder, `${user}-${files}.kubeconfig`);
      writeKubeconfig(path, { server, caFile, token: tokens[user], ...options });
      return path;
    },
    /** Makes a client certificate of the user, for the API server and for the wrapper's https. */
    clientCert: async (user: TestUser) =>
      await clientCerts.issue(testUsers[user], user === 'admin' ? ['system:masters'] : []),
    /** Authority of these certificates. */
    clientCaFile: clientCerts.caFile,
    /** Requests that the API server has answered, or begun to answer if they are watches. */
    requests: (filter?: RequestFilter) => readAuditLog(auditLogFile, filter),
    /** Ends all and removes the folder. */
    stop,
  };
}

function makeTokens(): Tokens {
  const token = () => randomBytes(16).toString('hex');
  const controllers = token();
  return { admin: token(), kubeProxy: token(), wrapper: token(), nobody: token(), controllers };
}

/** Lines of `token,user,uid,"groups"`, as kube-apiserver's --token-auth-file wants them. */
function writeTokenFile(folder: string, tokens: Tokens): string {
  // The controllers' own bootstrap roles are made for service accounts that don't exist here.
  const lines = [`${tokens.controllers},system:kube-controller-manager,controllers,system:masters`];
  for (const [user, name] of Object.entries(testUsers)) {
    const group = user === 'admin' ? ',system:masters' : '';
    lines.push(`${tokens[user as TestUser]},${name},${user}${group}`);
  }
  const path = join(folder, 'tokens.csv');
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 });
  return path;
}

async function startControllers(plane: ControlPlane, tokens: Tokens): Promise<Cleanup> {
  const { server, caFile, folder } = plane;
  const kubeconfig = join(folder, 'controllers.kubeconfig');
  writeKubeconfig(kubeconfig, { server, caFile, token: tokens.controllers });
  const binary = plane.binaries.kubeControllerManager;
  const manager = await startControllerManager({ binary, folder, kubeconfig });
  return async () => await manager.stop('SIGKILL');
}
