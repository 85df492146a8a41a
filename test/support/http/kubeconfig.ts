import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes a kubeconfig of one context with this cluster and user; returns its path. */
export function writeKubeconfig(
  folder: string,
  cluster: Record<string, unknown>,
  user: Record<string, unknown>,
  name = 'kubeconfig',
): string {
  const path = join(folder, name);
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'edge', cluster }],
    users: [{ name: 'proxy', user }],
    contexts: [{ name: 'main', context: { cluster: 'edge', user: 'proxy' } }],
    'current-context': 'main',
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

/** Base64, the encoding of inline data in a kubeconfig. */
export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
