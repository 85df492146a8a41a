import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './run-command.ts';

/** Commands that the harness calls, and the Debian package that has each. */
const packageOf: Readonly<Record<string, string>> = {
  ip: 'iproute2',
  iptables: 'iptables',
  'iptables-save': 'iptables',
  nft: 'nftables',
  conntrack: 'conntrack',
  openssl: 'openssl',
  setpriv: 'util-linux',
};

/** Installs, with apt-get, the packages of those commands that are missing. Needs root. */
export async function ensureOsPackages(): Promise<void> {
  await ensureCommands(packageOf);
}

/** The same for these commands; the values are the Debian packages that have them. */
export async function ensureCommands(commands: Readonly<Record<string, string>>): Promise<void> {
  const missing = Object.entries(commands).filter(([command]) => !isOnPath(command));
  const packages = [...new Set(missing.map(([, name]) => name))];
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
