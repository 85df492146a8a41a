import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../network/free-port.ts';
import { gatewayAddresses } from '../network/node-addresses.ts';
import { type ManagedProcess, startProcess, waitUntilReady } from '../process/managed-process.ts';
import { apiServerArgs } from './api-server-args.ts';
import { type AuditRules, auditPolicy } from './audit-log.ts';
import { getStatus } from './http-status.ts';
import { makeServingCert } from './serving-cert.ts';

/** A kube-apiserver that can be stopped and started again on the same port. */
export type ApiServer = Awaited<ReturnType<typeof startApiServer>>;

export interface ApiServerOptions {
  readonly binary: string;
  readonly folder: string;
  readonly etcdUrl: string;
  readonly tokenFile: string;
  readonly extraArgs: readonly string[];
  readonly auditRules: AuditRules | undefined;
}

/** Starts an API server and waits until it is ready. */
export async function startApiServer(options: ApiServerOptions) {
  const { binary, folder, auditRules } = options;
  const [port = 0] = await freePorts(1);
  const cert = await makeServingCert(folder, 'apiserver', ['127.0.0.1', ...gatewayAddresses()]);
  const policyFile = join(folder, 'audit-policy.json');
  writeFileSync(policyFile, JSON.stringify(auditPolicy(auditRules)));
  const args = [
    // Nobody listens at that address: Pods are not real.
    ...apiServerArgs({ ...options, cert, port, advertiseAddress: '10.99.0.1' }),
    '--authorization-mode=RBAC',
    // Pods need no ServiceAccount then, which no controller would make here.
    '--disable-admission-plugins=ServiceAccount',
    `--audit-policy-file=${policyFile}`,
    `--audit-log-path=${join(folder, 'audit.log')}`,
    ...options.extraArgs,
  ];
  const ca = readFileSync(cert.certFile);
  const url = `https://127.0.0.1:${port}`;
  let running: ManagedProcess | undefined;
  const server = {
    port,
    url,
    caFile: cert.certFile,
    auditLogFile: join(folder, 'audit.log'),
    start: async () => {
      const logFile = join(folder, 'kube-apiserver.log');
      running = startProcess({ name: 'kube-apiserver', command: binary, args, logFile });
      await waitUntilReady(running, async () => (await getStatus(`${url}/readyz`, ca)) === 200);
    },
    /** etcd remains. */
    stop: async (signal: NodeJS.Signals = 'SIGTERM') => {
      // A frozen process takes no SIGTERM.
      running?.child.kill('SIGCONT');
      // It stops listening immediately. While clients keep connections open it continues to run, for
      // up to a minute.
      await running?.stop(signal, 1_000);
    },
    restart: async () => {
      await server.stop();
      await server.start();
    },
    /** SIGSTOP or SIGCONT, for one that hangs. */
    signal: (signal: NodeJS.Signals) => running?.child.kill(signal),
  };
  await server.start();
  return server;
}
