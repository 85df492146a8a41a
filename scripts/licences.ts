import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly author?: string | { readonly name?: string };
  readonly repository?: string | { readonly url?: string };
}

const NODE_MODULES = '/node_modules/';

/** The sorted folders of the packages that contain these files. Files of the project itself are ignored. */
export function packageFoldersOf(files: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const file of files) {
    const at = file.lastIndexOf(NODE_MODULES);
    if (at < 0) continue;
    const start = at + NODE_MODULES.length;
    const [scopeOrName = '', name = ''] = file.slice(start).split('/');
    const folder = scopeOrName.startsWith('@') ? `${scopeOrName}/${name}` : scopeOrName;
    folders.add(file.slice(0, start) + folder);
  }
  return [...folders].sort();
}

/**
 * Names, versions and licence texts of packages. Throws for a package without a licence: somebody must look at it
 * before it is shipped.
 */
export function collectLicences(folders: readonly string[]): string {
  const sections = folders.map((folder) => {
    const manifest = readManifest(folder);
    if (manifest.license === undefined)
      throw new Error(`${manifest.name} has no licence in its package.json`);
    const texts = licenceFiles(folder).map((file) => readFileSync(file, 'utf8').trim());
    const licences = texts.length > 0 ? texts : [`No licence file; ${origin(manifest)}`];
    return [`${manifest.name} ${manifest.version} (${manifest.license})`, ...licences].join('\n\n');
  });
  const head = 'Packages that the programs in dist contain, with their licences.';
  return `${[head, ...sections].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/** Licences, and the notices that Apache-2.0 requires to be passed on. */
function licenceFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /^(licen[cs]e|notice|copying)/i.test(name))
    .sort()
    .map((name) => join(folder, name));
}

/** Reads the package.json with a name and version. Nested ones only set the module type. */
function readManifest(folder: string): Manifest {
  const path = join(folder, 'package.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as Partial<Manifest>;
  const { name, version } = manifest;
  if (name === undefined || version === undefined)
    throw new Error(`${dirname(path)} is not a package`);
  return { ...manifest, name, version };
}

function origin({ author, repository }: Manifest): string {
  const by = typeof author === 'string' ? author : author?.name;
  const from = typeof repository === 'string' ? repository : repository?.url;
  return [by, from].filter((text) => text !== undefined).join(', ');
}
