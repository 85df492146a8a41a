import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { load } from 'js-yaml';
import { WrapperError } from '../../errors.ts';
import { type Flags, textFlag } from './flags.ts';

/** The kubeconfig of the user who calls a command. */
export interface UserKubeconfig {
  readonly kubeconfig: string;
  /** Absent: its current context. */
  readonly context?: string;
}

/**
 * The kubeconfig of --kubeconfig, else of $KUBECONFIG, else ~/.kube/config. $KUBECONFIG can name several files: kubectl
 * merges them, this takes the first that has the context. Throws `InvalidSettings` if there is none.
 */
export function userKubeconfig(
  flags: Flags,
  env: Readonly<Record<string, string | undefined>> = process.env,
  home: string = homedir(),
): UserKubeconfig {
  const context = textFlag(flags, 'context');
  const given = textFlag(flags, 'kubeconfig');
  const kubeconfig = given ?? findFile(context, env.KUBECONFIG || defaultFile(home));
  return context === undefined ? { kubeconfig } : { kubeconfig, context };
}

function defaultFile(home: string): string {
  const file = join(home, '.kube', 'config');
  if (existsSync(file)) return file;
  const text = `there is no kubeconfig: ${file} does not exist; give --kubeconfig FILE, or set KUBECONFIG`;
  throw new WrapperError('InvalidSettings', text);
}

function findFile(context: string | undefined, paths: string): string {
  const files = paths.split(delimiter).filter((path) => path !== '');
  const found = files.find((file) => hasContext(file, context));
  if (found !== undefined) return found;
  const [first = '', ...others] = files;
  // The reader of a single file explains what is wrong with it.
  if (others.length === 0) return first;
  const what =
    context === undefined ? 'a current-context' : `the context ${JSON.stringify(context)}`;
  throw new WrapperError('InvalidSettings', `none of ${paths} has ${what}; use --kubeconfig`);
}

function hasContext(file: string, context: string | undefined): boolean {
  try {
    const config = load(readFileSync(file, 'utf8')) as {
      readonly 'current-context'?: unknown;
      readonly contexts?: readonly { readonly name?: unknown }[];
    };
    if (context === undefined) return Boolean(config['current-context']);
    return config.contexts?.some(({ name }) => name === context) === true;
  } catch {
    return false;
  }
}
