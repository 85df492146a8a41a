import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServingCert } from './serving-cert.ts';

export interface ApiServerArgs {
  /** For what the API server writes, and for the key of its ServiceAccounts. */
  readonly folder: string;
  readonly etcdUrl: string;
  readonly cert: ServingCert;
  readonly port: number;
  /** It refuses to advertise loopback. */
  readonly advertiseAddress: string;
  readonly tokenFile: string;
}

/** Flags of a kube-apiserver that every control plane of the tests has. */
export function apiServerArgs(options: ApiServerArgs): string[] {
  const { folder, cert } = options;
  const accountKey = serviceAccountKey(folder);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(accountKey, privateKey.export({ type: 'pkcs1', format: 'pem' }));
  return [
    `--etcd-servers=${options.etcdUrl}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    `--secure-port=${options.port}`,
    // Nodes reach it from their namespaces.
    '--bind-address=0.0.0.0',
    `--advertise-address=${options.advertiseAddress}`,
    `--tls-cert-file=${cert.certFile}`,
    `--tls-private-key-file=${cert.keyFile}`,
    `--cert-dir=${folder}`,
    `--token-auth-file=${options.tokenFile}`,
    `--service-account-key-file=${accountKey}`,
    `--service-account-signing-key-file=${accountKey}`,
    '--service-account-issuer=https://kubernetes.default.svc',
  ];
}

/** Path of the key that signs the tokens of ServiceAccounts. */
export function serviceAccountKey(folder: string): string {
  return join(folder, 'service-account.key');
}
