import { writeFileSync } from 'node:fs';

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

/** Writes a kubeconfig (as JSON, which is YAML too) with one cluster, user and context. */
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
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'test', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  };
  writeFileSync(path, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
}
