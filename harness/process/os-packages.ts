import { accessSync, constants } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from './run-command.ts';
import { searchPath } from './search-path.ts';

/** Commands that the harness calls, and the Debian package that has each. */
const harnessCommands: Readonly<Record<string, string>> = {
  ip: 'iproute2',
  iptables: 'iptables',
  'iptables-save': 'iptables',
  nft: 'nftables',
  conntrack: 'conntrack',
  openssl: 'openssl',
  setpriv: 'util-linux',
};

const LOCK_MS = 300_000;

/**
 * Installs, with apt-get, the packages of those commands that are missing. Throws, with their names, without root
 * or apt-get.
 *
 * @param packageOf by command, or path of a program, the Debian package that has it. Default: those that the harness
 *   calls.
 */
export async function ensureOsPackages(
  packageOf: Readonly<Record<string, string>> = harnessCommands,
): Promise<void> {
  const missing = Object.entries(packageOf).filter(([command]) => !isOnPath(command));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !isOnPath('apt-get')) {
    const named = missing.map(([command, name]) => `${command} (Debian package ${name})`);
    throw new Error(
      `missing: ${named.join(', ')}; install them, or run this once as root where there is apt-get`,
    );
  }
  const packages = [...new Set(missing.map(([, name]) => name))];
  await runAptGet(['update', '-qq']);
  await runAptGet(['install', '-y', '-qq', '--no-install-recommends', ...packages]);
}

/**
 * Runs apt-get. While something else holds one of its locks, as on a machine that has just started, waits for up to
 * 5 minutes; DPkg::Lock::Timeout does not wait for that of the package lists.
 */
export async function runAptGet(args: readonly string[]): Promise<void> {
  const env = { DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  const deadline = performance.now() + LOCK_MS;
  for (;;) {
    try {
      await runCommand('apt-get', args, { env });
      return;
    } catch (error) {
      const isLocked = String(error).includes('Could not get lock');
      if (!isLocked || performance.now() > deadline) throw error;
      await sleep(1_000);
    }
  }
}

function isOnPath(command: string): boolean {
  return searchPath()
    .split(delimiter)
    .some((folder) => {
      try {
        accessSync(resolve(folder, command), constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
