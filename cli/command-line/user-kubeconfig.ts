import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { WrapperError } from '../../src/errors.ts';
import { UsageError } from './usage-error.ts';

/** Flags that name a kubeconfig. */
export interface KubeconfigFlags {
  readonly kubeconfig?: string;
  /** Absent: its current context. */
  readonly context?: string;
  /** User to impersonate. */
  readonly as?: string;
  /** Its groups. */
  readonly asGroup?: readonly string[];
}

/** The kubeconfig of the user who calls a command. */
export interface UserKubeconfig extends Omit<KubeconfigFlags, 'kubeconfig'> {
  /** Paths of files that are read as one. */
  readonly kubeconfig: readonly string[];
}

/**
 * The kubeconfig of --kubeconfig, else of $KUBECONFIG, which can name several files, else ~/.kube/config. Throws
 * `InvalidSettings` if there is none, and UsageError for groups without a user, as kubectl.
 */
export function userKubeconfig(
  { kubeconfig, ...flags }: KubeconfigFlags,
  env: Readonly<Record<string, string | undefined>> = process.env,
  home: string = homedir(),
): UserKubeconfig {
  const { context, as, asGroup } = flags;
  if (asGroup !== undefined && as === undefined) throw new UsageError('--as-group needs --as');
  const who = { context, as, asGroup };
  const named = env.KUBECONFIG?.split(delimiter).filter((path) => path !== '') ?? [];
  if (kubeconfig !== undefined) return { kubeconfig: [kubeconfig], ...who };
  return { kubeconfig: named.length > 0 ? named : [defaultFile(home)], ...who };
}

function defaultFile(home: string): string {
  const file = join(home, '.kube', 'config');
  if (existsSync(file)) return file;
  const text = `there is no kubeconfig: ${file} does not exist; give --kubeconfig FILE, or set KUBECONFIG`;
  throw new WrapperError('InvalidSettings', text);
}
