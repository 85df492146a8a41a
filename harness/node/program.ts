import { resolve } from 'node:path';

/**
 * The wrapper that is tested: `$KPW_PROGRAM`, such as `dist/main.js`, which is what users get; by default the
 * sources, for which nothing has to be built.
 */
export const PROGRAM = resolve(
  process.env.KPW_PROGRAM ?? resolve(import.meta.dirname, '../../cli/main.ts'),
);

export interface RunFlags {
  readonly kubeconfig: string;
  readonly nodeName: string;
  /** `IP:port`. */
  readonly listen: string;
  /** `IP:port`. */
  readonly adminListen: string;
  /** Default: no settings but these. */
  readonly configFile?: string | undefined;
}

/** The command `run` of the program, with its flags. */
export function runArgs(flags: RunFlags): string[] {
  const { kubeconfig, nodeName, listen, adminListen, configFile } = flags;
  const config = configFile === undefined ? [] : ['--config', configFile];
  const identity = ['--kubeconfig', kubeconfig, '--node-name', nodeName];
  return ['run', ...identity, '--listen', listen, '--admin-listen', adminListen, ...config];
}

/** Whether a wrapper has all that it can have before a kube-proxy connects, by its answer to /readyz. */
export function isReadyForKubeProxy(answer: { readonly body: string } | undefined): boolean {
  const { body = '' } = answer ?? {};
  return body.includes('readyz check') && !/^\[-\](?!kube-proxy )/m.test(body);
}
