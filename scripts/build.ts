/** Makes dist/: main.js, the whole program in one file, and the licences of what went into it. */
import { rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { collectLicences, packageFoldersOf } from './licences.ts';

const root = resolve(import.meta.dirname, '..');
const dist = join(root, 'dist');

/**
 * Packages that do nothing when they are merely imported, though they do not say so. Of the generated API
 * classes of client-node nothing is used; to load them all costs more memory than 10,000 Services.
 */
const PURE_PACKAGES = /^@kubernetes\/client-node$/;

const dropUnused: Plugin = {
  name: 'drop-unused',
  setup({ onResolve, resolve: resolveAgain }) {
    onResolve({ filter: PURE_PACKAGES }, async ({ path, pluginData, ...from }) => {
      if (pluginData === dropUnused) return undefined;
      const found = await resolveAgain(path, { ...from, pluginData: dropUnused });
      return { ...found, sideEffects: false };
    });
    // The package's own modules are reached by relative imports.
    onResolve({ filter: /^\.\.?\// }, async ({ path, pluginData, ...from }) => {
      if (pluginData === dropUnused || !from.importer.includes('/@kubernetes/client-node/')) {
        return undefined;
      }
      const found = await resolveAgain(path, { ...from, pluginData: dropUnused });
      return { ...found, sideEffects: false };
    });
  },
};

rmSync(dist, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ['src/main.ts'],
  outfile: 'dist/main.js',
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  // A stack trace should name things; half of the size is comments and white space.
  minifyWhitespace: true,
  minifySyntax: true,
  keepNames: false,
  legalComments: 'none',
  // Beside the program, but not in the package (package.json, files): it is twice as big.
  sourcemap: 'external',
  sourcesContent: false,
  // CommonJS packages ask for Node's modules by require, which an ES module does not have.
  banner: {
    js: "import{createRequire as nodeCreateRequire}from'node:module';const require=nodeCreateRequire(import.meta.url);",
  },
  plugins: [dropUnused],
  metafile: true,
  logLevel: 'warning',
});

const inputs = Object.keys(metafile.outputs['dist/main.js']?.inputs ?? {});
const folders = packageFoldersOf(inputs.map((input) => join(root, input)));
writeFileSync(join(dist, 'THIRD-PARTY-LICENSES'), collectLicences(folders));
const bytes = metafile.outputs['dist/main.js']?.bytes ?? 0;
process.stdout.write(
  `${relative(root, join(dist, 'main.js'))}: ${Math.round(bytes / 1000)} kB, ${folders.length} packages\n`,
);
