import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build, type Metafile } from 'esbuild';
import type { PageAssets } from '../src/admin/page/page-assets.ts';

const root = resolve(import.meta.dirname, '..');

export interface BundledPage extends PageAssets {
  /** Paths of the files in the bundle. */
  readonly inputs: readonly string[];
}

/** Bundles the page from page/. */
export async function bundlePage(): Promise<BundledPage> {
  const [html, icon] = await Promise.all(
    ['page/index.html', 'page/icon.svg'].map((path) => readFile(join(root, path), 'utf8')),
  );
  return {
    html: html ?? '',
    icon: icon ?? '',
    ...(await bundleForBrowser('page/main.tsx', 'page/style.css')),
  };
}

/** Bundles a script and a style sheet, given by their paths from the root of the repository. */
export async function bundleForBrowser(
  script: string,
  style: string,
): Promise<Omit<BundledPage, 'html' | 'icon'>> {
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
