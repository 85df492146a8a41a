import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentedCommands } from '../deploy/documents.ts';
import { repository } from '../deploy/repository.ts';
import { runCommand } from '../process/run-command.ts';
import type { Cluster } from './cluster.ts';

export type Workspace = ReturnType<typeof createWorkspace>;

/** A copy of manifests and chart, in which commands of the documents run as they are written there. */
export function createWorkspace(cluster: Cluster, programs: Readonly<Record<string, string>> = {}) {
  const folder = join(cluster.folder, 'workspace');
  for (const each of ['manifests', 'charts']) {
    cpSync(join(repository, each), join(folder, each), { recursive: true });
  }
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const [name, path] of Object.entries({ kubectl: cluster.binaries.kubectl, ...programs })) {
    symlinkSync(path, join(bin, name));
    chmodSync(path, 0o755);
  }
  const env = { KUBECONFIG: cluster.kubeconfig, PATH: `${bin}:${process.env.PATH}` };
  const run = async (commands: string) =>
    await runCommand('bash', ['-c', `set -eu\n${commands}`], { cwd: folder, env });
  return {
    folder,
    write: (path: string, text: string, mode = 0o644) => {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), text, { mode });
    },
    /** Runs shell commands. */
    run,
    /** The block that {@link runDocumented} would run. */
    documented: documentedCommands,
    /**
     * Runs the block of a section of the documents, by its heading, that begins with this command. In it the keys of
     * `instead` are replaced, such as the name of the node.
     */
    runDocumented: async (
      section: string,
      beginning: string,
      instead: Readonly<Record<string, string>> = {},
    ) => {
      let commands = documentedCommands(section, beginning);
      for (const [from, to] of Object.entries(instead)) {
        if (!commands.includes(from)) throw new Error(`${section}: no ${from} in ${commands}`);
        commands = commands.replaceAll(from, to);
      }
      return await run(commands);
    },
  };
}
