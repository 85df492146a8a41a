import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { WrapperError } from '../../src/errors.ts';

/** Flags that name a kubeconfig. */
export interface KubeconfigFlags {
  readonly kubeconfig?: string;
  /** Absent: its current context. */
  readonly context?: string;
}

/** The kubeconfig of the user who calls a command. */
export interface UserKubeconfig {
  /** Paths of files that are read as one. */
  readonly kubeconfig: readonly string[];
  /** Absent: its current context. */
  readonly context?: string;
}

/**
 * The kubeconfig of --kubeconfig, else of $KUBECONFIG, which can name several files, else ~/.kube/config. Throws
 * `InvalidSettings` if there is none.
 */
export function userKubeconfig(
  { kubeconfig, context }: KubeconfigFlags,
  env: Readonly<Record<string, string | undefined>> = process.env,
  home: string = homedir(),
): UserKubeconfig {
  const named = env.KUBECONFIG?.split(delimiter).filter((path) => path !== '') ?? [];
  if (kubeconfig !== undefined) return { kubeconfig: [kubeconfig], context };
  return { kubeconfig: named.length > 0 ? named : [defaultFile(home)], context };
}

function defaultFile(home: string): string {
  const file = join(home, '.kube', 'config');
  if (existsSync(file)) return file;
  const text = `there is no kubeconfig: ${file} does not exist; give --kubeconfig FILE, or set KUBECONFIG`;
  throw new WrapperError('InvalidSettings', text);
}
