import { repository } from '../deploy/repository.ts';
import { runCommand } from '../process/run-command.ts';

/** Runs kubectl in the root of the repository; `input` becomes its stdin. Returns its stdout. */
export type Kubectl = (args: readonly string[], input?: string) => Promise<string>;

/** kubectl with the identity of a kubeconfig. */
export function createKubectl(program: string, kubeconfig: string): Kubectl {
  return async (args, input = '') =>
    await runCommand(program, ['--kubeconfig', kubeconfig, ...args], { cwd: repository, input });
}
