import { writeFileSync } from 'node:fs';
import { kubeconfigOf } from '../../fake-apiserver/kubeconfig.ts';

/** The content of a kubeconfig. */
export interface KubeconfigOptions {
  /** URL of the server. */
  readonly server: string;
  /** File with the certificates that the server is checked against; not for http. */
  readonly caFile?: string;
  /** Bearer token. */
  readonly token?: string;
  /** File that holds the bearer token, as in kubeadm's kubeconfig of kube-proxy. */
  readonly tokenFile?: string;
}

/** Writes a kubeconfig with one context. */
export function writeKubeconfig(path: string, options: KubeconfigOptions): void {
  const { server, caFile, token, tokenFile } = options;
  const isTls = server.startsWith('https:');
  const cluster = {
    server,
    ...(isTls && caFile !== undefined ? { 'certificate-authority': caFile } : {}),
  };
  const user = {
    ...(token === undefined ? {} : { token }),
    ...(tokenFile === undefined ? {} : { tokenFile }),
  };
  writeFileSync(path, kubeconfigOf(cluster, user), { mode: 0o600 });
}
