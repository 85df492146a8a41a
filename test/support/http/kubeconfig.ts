import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kubeconfigOf } from '../../../fake-apiserver/kubeconfig.ts';

/** Writes a kubeconfig of one context with this cluster and user; returns its path. */
export function writeKubeconfig(
  folder: string,
  cluster: object,
  user: object,
  name = 'kubeconfig',
): string {
  const path = join(folder, name);
  writeFileSync(path, kubeconfigOf(cluster, user));
  return path;
}

/** Base64, the encoding of inline data in a kubeconfig. */
export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
