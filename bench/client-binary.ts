import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { runCommand } from '../test/e2e/support/run-command.ts';

const moduleFolder = join(import.meta.dirname, 'client');

/**
 * Builds the measuring client if it is missing or out of date and returns its path, beside the
 * programs of the end-to-end tests.
 */
export async function ensureClientBinary(report: (line: string) => void): Promise<string> {
  const cache = process.env.KPW_CACHE ?? join(import.meta.dirname, '../.cache');
  const folder = resolve(cache, 'bin');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'bench-client');
  const stampFile = `${path}.stamp`;
  const stamp = stampOfModule();
  if (existsSync(path) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) {
    return path;
  }
  report('building the measuring client');
  // Built aside and renamed, so that nobody ever runs half a program.
  const aside = `${path}.${process.pid}.tmp`;
  await runCommand('go', ['build', '-trimpath', '-buildvcs=false', '-o', aside, '.'], {
    cwd: moduleFolder,
    env: { CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off' },
  });
  renameSync(aside, path);
  writeFileSync(stampFile, stamp);
  return path;
}

function stampOfModule(): string {
  const hash = createHash('sha256');
  for (const file of readdirSync(moduleFolder).sort()) {
    hash.update(file).update(readFileSync(join(moduleFolder, file)));
  }
  return hash.digest('hex');
}
