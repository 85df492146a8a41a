import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build, type Metafile } from 'esbuild';
import type { PageAssets } from '../src/admin/page/page-assets.ts';

const root = resolve(import.meta.dirname, '..');

/**
 * Bundles the page and the bar of the demo for browsers, as page.json and demo-bar.json in a folder. The Dockerfile has
 * no demo/. Returns the paths of all files in the bundles.
 */
export async function buildPage(folder = join(root, 'dist')): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const read = (path: string): Promise<string> => readFile(join(root, path), 'utf8');
  const page = await bundle('web/main.tsx', 'web/style.css');
  const { js, css } = page;
  await write(join(folder, 'page.json'), {
    html: await read('web/index.html'),
    icon: await read('web/icon.svg'),
    js,
    css,
  } satisfies PageAssets);
  if (!existsSync(join(root, 'demo'))) return page.inputs;
  const bar = await bundle('demo/web/main.tsx', 'demo/web/style.css');
  await write(join(folder, 'demo-bar.json'), { js: bar.js, css: bar.css });
  return [...page.inputs, ...bar.inputs];
}

/** Replaces a file in one step, because tests run side by side. */
async function write(path: string, content: object): Promise<void> {
  const temporary = `${path}.${process.pid}`;
  await writeFile(temporary, JSON.stringify(content));
  await rename(temporary, path);
}

/** Bundles a script and a style sheet, given by their paths from the root of the repository. */
async function bundle(script: string, style: string) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { js: script, css: style },
    outdir: '.',
    write: false,
    bundle: true,
    minify: true,
    platform: 'browser',
    format: 'iife',
    target: ['chrome120', 'firefox120', 'safari17'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfigRaw: {},
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  const text = (ending: string): string =>
    outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? '';
  return { js: text('.js'), css: text('.css'), inputs: inputsOf(metafile) };
}

function inputsOf({ outputs }: Metafile): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.keys(output.inputs));
  return [...new Set(inputs)].map((input) => join(root, input));
}

if (import.meta.main) await buildPage();
