import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './run-command.ts';

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

/**
 * Installs, with apt-get, the packages of those commands that are missing. Needs root.
 *
 * @param packageOf by command the Debian package that has it. Default: those that the harness calls.
 */
export async function ensureOsPackages(
  packageOf: Readonly<Record<string, string>> = harnessCommands,
): Promise<void> {
  const missing = Object.keys(packageOf).filter((command) => !isOnPath(command));
  const packages = [...new Set(missing.map((command) => packageOf[command] ?? command))];
  if (packages.length === 0) return;
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await runCommand('apt-get', ['update', '-qq'], { env });
  await runCommand('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], {
    env,
  });
}

function isOnPath(command: string): boolean {
  const folders = (process.env.PATH ?? '').split(':').concat('/usr/sbin', '/sbin');
  return folders.some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
