import { join } from 'node:path';
import { runCommand } from '../process/run-command.ts';
import type { Image } from './image.ts';

/**
 * Does on this machine what an init container of ours does: runs a program of the image as root with the capability
 * CHOWN and no other.
 */
export async function runWithChownAlone(image: Image, command: readonly string[]): Promise<void> {
  const [program = '', ...args] = command;
  const only = '-all,+chown';
  const become = [`--bounding-set=${only}`, `--inh-caps=${only}`, '--no-new-privs'];
  const script = [process.execPath, join(image.root, program), ...args];
  await runCommand('setpriv', [...become, '--', ...script]);
}
