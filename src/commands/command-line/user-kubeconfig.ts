import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { WrapperError } from '../../errors.ts';
import { type Flags, textFlag } from './flags.ts';

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
  flags: Flags,
  env: Readonly<Record<string, string | undefined>> = process.env,
  home: string = homedir(),
): UserKubeconfig {
  const context = textFlag(flags, 'context');
  const given = textFlag(flags, 'kubeconfig');
  const named = env.KUBECONFIG?.split(delimiter).filter((path) => path !== '') ?? [];
  const kubeconfig = given !== undefined ? [given] : named.length > 0 ? named : [defaultFile(home)];
  return context === undefined ? { kubeconfig } : { kubeconfig, context };
}

function defaultFile(home: string): string {
  const file = join(home, '.kube', 'config');
  if (existsSync(file)) return file;
  const text = `there is no kubeconfig: ${file} does not exist; give --kubeconfig FILE, or set KUBECONFIG`;
  throw new WrapperError('InvalidSettings', text);
}
