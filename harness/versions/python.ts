import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ensureOsPackages } from '../process/os-packages.ts';
import { runCommand } from '../process/run-command.ts';

const clients = resolve(import.meta.dirname, '../../test/real/versions/clients');

/** Version of the Kubernetes client for Python. */
export const PYTHON_CLIENT = '37.0.2';

/**
 * Installs the Kubernetes client for Python into a folder of its own in `$KPW_CACHE`, and returns the path of the
 * Python that has it. pip checks the hashes of all packages.
 */
export async function ensurePythonClient(
  report: (line: string) => void = () => {},
): Promise<string> {
  const requirements = join(clients, 'python-requirements.txt');
  const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12);
  const cache = resolve(process.env.KPW_CACHE ?? join(clients, '../../../../.cache'));
  const folder = join(cache, `python-${hash}`);
  const python = join(folder, 'bin/python');
  const done = join(folder, '.installed');
  if (existsSync(done)) return python;
  report(`installing the Kubernetes client for Python ${PYTHON_CLIENT}`);
  await rm(folder, { recursive: true, force: true });
  // Debian's python3 without this package has no venv; the message of Python says so.
  await ensureOsPackages({ python3: 'python3-venv' });
  await runCommand('python3', ['-m', 'venv', folder]);
  const flags = [
    '--quiet',
    '--disable-pip-version-check',
    '--require-hashes',
    '--only-binary=:all:',
  ];
  await runCommand(python, ['-m', 'pip', 'install', ...flags, '-r', requirements]);
  await runCommand('touch', [done]);
  return python;
}
