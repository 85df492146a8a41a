import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runAptGet } from '../../support/os-packages.ts';
import { runCommand } from '../../support/run-command.ts';

/** A binary package in a version that the archive has now. */
export interface DebianPackage {
  readonly name: string;
  readonly version: string;
}

/**
 * What would have to be installed on an empty system for these packages: they and all they depend on, without
 * what is only recommended; sorted by name. Asks apt.
 */
export async function resolvePackages(names: readonly string[]): Promise<DebianPackage[]> {
  // An empty status file: nothing counts as installed, so the answer is the same on every machine.
  const args = ['install', '-s', '--no-install-recommends', '-o', 'Dir::State::status=/dev/null'];
  const plan = await runCommand('apt-get', [...args, ...names]);
  const packages = Array.from(plan.matchAll(/^Inst (\S+) \((\S+) /gm), ([, name, version]) => ({
    name: name ?? '',
    version: version ?? '',
  }));
  return packages.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Downloads those that are not in `folder` yet, and returns the paths of all. Installs nothing. */
export async function downloadPackages(
  packages: readonly DebianPackage[],
  folder: string,
): Promise<string[]> {
  const missing = packages.filter((one) => !existsSync(pathOf(one, folder)));
  if (missing.length > 0) {
    mkdirSync(folder, { recursive: true });
    // Moved when all are whole, so that nobody ever reads half a package.
    const aside = mkdtempSync(join(folder, 'download-'));
    const wanted = missing.map(({ name, version }) => `${name}=${version}`);
    // The sandbox user of apt may not write there, and would only warn about it.
    const args = ['download', '-qq', '-o', 'APT::Sandbox::User=root', ...wanted];
    try {
      await runCommand('apt-get', args, { cwd: aside });
      for (const one of missing) moveInto(folder, aside, one);
    } finally {
      rmSync(aside, { recursive: true, force: true });
    }
  }
  return packages.map((one) => pathOf(one, folder));
}

/** Used if apt has no package lists yet, or lists versions that the archive has replaced. */
export async function updatePackageLists(): Promise<void> {
  await runAptGet(['update', '-qq']);
}

function pathOf({ name, version }: DebianPackage, folder: string): string {
  return join(folder, `${name}_${version.replace(':', '%3a')}.deb`);
}

/** apt names the file with the architecture, too, which differs from package to package. */
function moveInto(folder: string, aside: string, one: DebianPackage): void {
  const prefix = `${one.name}_${one.version.replace(':', '%3a')}_`;
  const file = readdirSync(aside).find((name) => name.startsWith(prefix));
  if (file === undefined) throw new Error(`apt-get download left no file ${prefix}*`);
  renameSync(join(aside, file), pathOf(one, folder));
}
