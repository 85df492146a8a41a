import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { readText, repository } from '../../../harness/deploy/repository.ts';
import { runCommand } from '../../../harness/process/run-command.ts';
import { useFolder } from '../../support/use-folder.ts';
import { startDemo } from '../../web/demo-process.ts';

/** A part of the program, named after its contents, or a document. */
const PART = /^dist\/[\w-]+-[A-Z0-9]{8}\.js$|^docs\/|^[A-Z_]+\.md$/;

let folder: string;
let installed: string;

/** As on a node that reaches no registry: what `npm pack` makes is all there is. */
beforeAll(async () => {
  folder = useFolder();
  // npm run build has run before the tests (scripts/test.ts).
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder];
  const tarball = (await runCommand('npm', args, { cwd: repository })).trim();
  writeFileSync(join(folder, 'package.json'), '{}');
  const install = ['install', '--offline', '--no-audit', '--no-fund', join(folder, tarball)];
  await runCommand('npm', install, { cwd: folder });
  installed = join(folder, 'node_modules/kube-proxy-wrapper');
}, 300_000);

async function npx(...args: string[]): Promise<string> {
  const offline = ['--offline', '--no-install', 'kube-proxy-wrapper', ...args];
  return await runCommand('npx', offline, { cwd: folder });
}

test('the package brings all that it needs, and nothing else', () => {
  const modules = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'));
  expect(modules).toEqual(['kube-proxy-wrapper']);
  const files = readdirSync(installed, { recursive: true }).map(String);
  expect(files.filter((name) => !PART.test(name)).sort()).toEqual([
    'LICENSE',
    'bench',
    'bench/NOTES.md',
    'bench/README.md',
    'demo',
    'demo/cluster.yaml',
    'dist',
    'dist/THIRD-PARTY-LICENSES',
    'dist/demo-bar.json',
    'dist/demo.js',
    'dist/kubectl-kpw.js',
    'dist/kubectl_complete-kpw.js',
    'dist/listens.js',
    'dist/main.js',
    'dist/page.json',
    'docs',
    'package.json',
  ]);
});

test('its README leads to documents that it brings', () => {
  const text = readFileSync(join(installed, 'README.md'), 'utf8');
  const targets = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = '']) => path);
  expect(targets.length).toBeGreaterThan(10);
  expect(targets.filter((path) => !existsSync(join(installed, path)))).toEqual([]);
});

// Code costs memory on every node: all commands in one file, 2.2 MB, took 10 MB more than 1.3 MB.
test('run loads only what each node needs', () => {
  const dist = join(installed, 'dist');
  const loaded = new Set(
    readdirSync(dist).filter((name) => /^(main|run-[A-Z0-9]{8})\.js$/.test(name)),
  );
  expect(loaded.size).toBe(2);
  for (const name of loaded) {
    const text = readFileSync(join(dist, name), 'utf8');
    for (const [, imported = ''] of text.matchAll(/(?:import|from)"\.\/([^"]+)"/g))
      loaded.add(imported);
  }
  const bytes = [...loaded].map((name) => statSync(join(dist, name)).size);
  const sum = bytes.reduce((total, size) => total + size, 0);
  expect(sum).toBeGreaterThan(600_000);
  expect(sum).toBeLessThan(1_250_000);
});

test('its commands run', async () => {
  const { version } = JSON.parse(readText('package.json')) as { version: string };
  expect((await npx('--version')).trim()).toBe(version);
  expect(await npx('--help')).toContain('kube-proxy-wrapper COMMAND [flags]');
  expect(await npx('explain', '--help')).toContain('--selector');
  const example = 'node_modules/kube-proxy-wrapper/demo/cluster.yaml';
  const said = await npx('simulate', '--from', example, '--service', 'web');
  expect(said).toContain('default/web');
  // The plugin of kubectl.
  const plugin = ['--offline', '--no-install', 'kubectl-kpw', '--help'];
  expect(await runCommand('npx', plugin, { cwd: folder })).toContain('kubectl kpw COMMAND [flags]');
});

// The image is built without demo/, so it has no dist/demo.js either.
test('its demo runs, and a package without it says where it is', async () => {
  const said = await npx('demo', '--once');
  expect(said).toContain('A cluster in memory: 5 nodes, 5 Services');
  expect(said).toContain('> label edge-1 site=a');
  const demo = join(installed, 'dist/demo.js');
  renameSync(demo, `${demo}.gone`);
  try {
    await expect(npx('demo')).rejects.toThrow(/the demo is not part of this installation.*npx/);
  } finally {
    renameSync(`${demo}.gone`, demo);
  }
});

// From source they are bundled when they are requested. The package has no bundler.
test('the page of its demo is complete', async () => {
  const demo = await startDemo(join(installed, 'dist/main.js'));
  const sizes = await Promise.all(
    ['', 'demo.js', 'demo.css', 'demo/cluster'].map(async (path) => {
      const response = await fetch(`${demo.url}${path}`);
      return [response.status, (await response.text()).length > 100];
    }),
  );
  await demo.close();
  expect(sizes).toEqual(Array(4).fill([200, true]));
});
