import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { WrapperError } from '../../errors.ts';
import { addressText } from '../../util/address.ts';
import { type CredentialsReading, createReader } from './credentials-reader.ts';
import type { PluginOptions } from './exec-plugin.ts';
import { type KubeconfigFile, selectContext } from './kubeconfig.ts';

/**
 * Reads all credentials again. `force` also runs a credential plugin whose answer has not expired. Rejects with
 * `Credentials` or `InvalidSettings`.
 */
export type ReadCredentials = (force: boolean) => Promise<CredentialsReading>;

/**
 * Reads credentials from kubeconfig files.
 *
 * @param paths several are read as one; then those that do not exist are left out, as kubectl does
 * @param context default: the first current context
 */
export function readFromKubeconfig(
  paths: readonly string[],
  plugins: PluginOptions,
  context?: string,
): ReadCredentials {
  let files: readonly KubeconfigFile[];
  let read: () => Promise<CredentialsReading>;
  return async (force) => {
    const found = await readKubeconfigs(paths.map((path) => resolve(path)));
    // Unchanged files keep their reader, which has the last answer of a credential plugin.
    if (force || !isDeepStrictEqual(files, found)) {
      const { cluster, user } = selectContext(found, context);
      read = createReader(cluster, user, plugins);
      files = found;
    }
    return read();
  };
}

/** Reads credentials of the Pod's service account, as client-go's rest.InClusterConfig. */
export function readInCluster(env: NodeJS.ProcessEnv, folder: string): ReadCredentials {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) {
    throw new WrapperError(
      'InvalidSettings',
      'no kubeconfig is set, and KUBERNETES_SERVICE_HOST and _PORT are not set, so this is not a Pod; set a kubeconfig',
    );
  }
  const server = `https://${addressText({ host, port })}`;
  const about = { name: 'in-cluster', file: folder };
  return createReader(
    { ...about, server, 'certificate-authority': join(folder, 'ca.crt') },
    { ...about, tokenFile: join(folder, 'token') },
    {},
  );
}

async function readKubeconfigs(files: readonly string[]): Promise<KubeconfigFile[]> {
  const found: KubeconfigFile[] = [];
  for (const [index, file] of files.entries()) {
    try {
      found.push({ file, text: await readFile(file, 'utf8') });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const isLast = index === files.length - 1;
      if (code === 'ENOENT' && (found.length > 0 || !isLast)) continue;
      throw new WrapperError(
        'InvalidSettings',
        `the kubeconfig ${file} cannot be read (${code}); check the path and its permissions`,
        { cause: error },
      );
    }
  }
  return found;
}
