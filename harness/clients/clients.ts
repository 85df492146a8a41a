import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ensureBinary, informer } from '../process/binaries.ts';
import { ensureOsPackages } from '../process/os-packages.ts';
import { runCommand } from '../process/run-command.ts';

/** A library whose program in test/real/clients/programs prints what it has of EndpointSlices. */
export interface ClientLibrary {
  /** Its name in the table of docs/clients.md. */
  readonly name: string;
  readonly version: string;
  /** The program's name for it. */
  readonly argument: string;
  readonly language: 'Python' | 'Node.js' | 'Java' | 'Go';
}

/** The moments after which a change is made, in this order. */
export const MOMENTS = ['start', 'change', 'relabel', 'planned', 'killed', 'silence'] as const;
export type Moment = (typeof MOMENTS)[number];

const PROGRAMS = resolve(import.meta.dirname, '../../test/real/clients/programs');
const CACHE = resolve(process.env.KPW_CACHE ?? resolve(import.meta.dirname, '../../.cache'));

/** All clients of the suite, with the versions that it installs. */
export const CLIENTS: readonly ClientLibrary[] = [
  { name: 'kopf', version: '1.45.2', argument: 'kopf', language: 'Python' },
  { name: 'kr8s', version: '0.20.15', argument: 'kr8s', language: 'Python' },
  { name: 'lightkube', version: '1.0.1', argument: 'lightkube', language: 'Python' },
  {
    name: 'kubernetes_asyncio',
    version: '36.1.0',
    argument: 'kubernetes_asyncio',
    language: 'Python',
  },
  { name: 'kubernetes', version: '37.0.2', argument: 'kubernetes', language: 'Python' },
  { name: 'pykube-ng', version: '23.6.0', argument: 'pykube', language: 'Python' },
  { name: 'easykube', version: '0.6.0', argument: 'easykube', language: 'Python' },
  { name: 'kubesdk', version: '0.3.4', argument: 'kubesdk', language: 'Python' },
  {
    name: '@kubernetes/client-node',
    version: '2.0.1',
    argument: 'client-node',
    language: 'Node.js',
  },
  {
    name: 'kubernetes-fluent-client',
    version: '3.11.6',
    argument: 'fluent-client',
    language: 'Node.js',
  },
  {
    name: 'kubernetes-client',
    version: '9.0.0',
    argument: 'kubernetes-client',
    language: 'Node.js',
  },
  {
    name: 'io.fabric8:kubernetes-client',
    version: '7.7.0',
    argument: 'fabric8',
    language: 'Java',
  },
  {
    name: 'io.fabric8:kubernetes-client',
    version: '8.0.0',
    argument: 'fabric8',
    language: 'Java',
  },
  {
    name: 'io.kubernetes:client-java',
    version: '26.0.0',
    argument: 'client-java',
    language: 'Java',
  },
  {
    name: 'k8s.io/client-go',
    version: informer.version,
    argument: 'client-go',
    language: 'Go',
  },
];

type Install = (folder: string, client: ClientLibrary) => Promise<readonly string[]>;

/** Installs the libraries of a language into a folder of the cache. Returns the command that runs its program. */
const INSTALL: Readonly<Record<ClientLibrary['language'], Install>> = {
  Python: async (folder) => {
    const python = join(folder, 'bin/python');
    await once(folder, async () => {
      // Debian's python3 without this package has no venv; the message of Python says so.
      await ensureOsPackages({ python3: 'python3-venv' });
      await runCommand('python3', ['-m', 'venv', folder]);
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
      await runCommand(python, [...pip, ...versions('Python', '==')]);
    });
    return [python, join(PROGRAMS, 'watch_slices.py')];
  },
  'Node.js': async (folder) => {
    await once(folder, async () => {
      const flags = ['--prefix', folder, '--no-audit', '--no-fund', '--silent', '--no-save'];
      await runCommand('npm', ['install', ...flags, ...versions('Node.js', '@')]);
    });
    // Node.js looks for packages beside the program.
    await copyFile(join(PROGRAMS, 'watch-slices.mjs'), join(folder, 'watch-slices.mjs'));
    return [process.execPath, join(folder, 'watch-slices.mjs')];
  },
  Java: async (folder, { argument, version }) => {
    const classes = join(folder, 'classes');
    const path = join(folder, 'lib', '*');
    await once(folder, async () => {
      const flags = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${folder}/lib`];
      const wanted = `-D${argument}.version=${version}`;
      await runCommand('mvn', ['-f', join(PROGRAMS, 'pom.xml'), ...flags, wanted]);
      const source = join(PROGRAMS, 'WatchSlices.java');
      await runCommand('javac', ['-cp', path, '-d', classes, source]);
    });
    return ['java', '-cp', `${classes}:${path}`, 'WatchSlices'];
  },
  Go: async () => [
    process.execPath,
    join(PROGRAMS, 'watch-informer.mjs'),
    await ensureBinary(informer),
  ],
};

/** Installs a client if it is not installed. Returns the command to which the path of a kubeconfig is added. */
export async function ensureClient(client: ClientLibrary): Promise<readonly string[]> {
  const { language, argument } = client;
  const files = {
    Python: 'watch_slices.py',
    'Node.js': 'watch-slices.mjs',
    Java: 'WatchSlices.java',
    Go: 'watch-informer.mjs',
  };
  const source = readFileSync(join(PROGRAMS, files[language]));
  // Two versions of one library of Java cannot be in one folder.
  const inFolder = language === 'Java' ? [client] : ofLanguage(language);
  const wanted = JSON.stringify(inFolder);
  const key = createHash('sha256').update(wanted).update(source).digest('hex').slice(0, 12);
  const name = language.toLowerCase().replace('.', '');
  return [...(await INSTALL[language](join(CACHE, `clients-${name}-${key}`), client)), argument];
}

function ofLanguage(language: ClientLibrary['language']): readonly ClientLibrary[] {
  return CLIENTS.filter((client) => client.language === language);
}

function versions(language: ClientLibrary['language'], separator: string): string[] {
  return ofLanguage(language).map(({ name, version }) => `${name}${separator}${version}`);
}

/** Fills a folder unless that has been done. */
async function once(folder: string, fill: () => Promise<void>): Promise<void> {
  const done = join(folder, '.installed');
  if (existsSync(done)) return;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await fill();
  await runCommand('touch', [done]);
}
