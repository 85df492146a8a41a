/** Makes dist/: main.js, the whole program in one file, and the licences of what went into it. */
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { bundlePage } from './bundle-page.ts';
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

/** Error texts of zod in 50 languages, all of which are loaded with it: 300 kB of source. English stays. */
const dropLanguages: Plugin = {
  name: 'drop-languages',
  setup({ onLoad }) {
    onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
  },
};

/**
 * The index of undici loads all there is: fetch, caches, mocks, WebSockets. This is the part of it that makes
 * requests by an Agent (upstream.ts). KubeConfig could ask for a ProxyAgent, so that is there when asked for.
 */
const UNDICI = `
const Dispatcher = require('./lib/dispatcher/dispatcher');
Dispatcher.prototype.request = require('./lib/api/api-request');
exports.Agent = require('./lib/dispatcher/agent');
exports.buildConnector = require('./lib/core/connect');
Object.defineProperty(exports, 'ProxyAgent', {
  enumerable: true,
  get: () => require('./lib/dispatcher/proxy-agent'),
});
`;

const dropFetch: Plugin = {
  name: 'drop-fetch',
  setup({ onLoad }) {
    onLoad({ filter: /\/undici\/index\.js$/ }, ({ path }) => ({
      contents: UNDICI,
      resolveDir: dirname(path),
    }));
  },
};

const page = await bundlePage();

/** The page goes into the program, in the place of the module that makes it from source. */
const embedPage: Plugin = {
  name: 'embed-page',
  setup({ onLoad }) {
    const { inputs: _, ...assets } = page;
    onLoad({ filter: /\/src\/admin\/page\/assets\.ts$/ }, () => ({
      contents: `const assets = ${JSON.stringify(assets)};
export const loadPageAssets = async () => assets;`,
    }));
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
  // The source stays in memory. Names stay too, for stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  // Beside the program, but not in the package (package.json, files): it is twice as big.
  sourcemap: 'external',
  sourcesContent: false,
  // CommonJS packages ask for Node's modules by require, which an ES module does not have.
  banner: {
    js: "import{createRequire as nodeCreateRequire}from'node:module';const require=nodeCreateRequire(import.meta.url);",
  },
  plugins: [dropUnused, dropLanguages, dropFetch, embedPage],
  metafile: true,
  logLevel: 'warning',
});

const inputs = Object.keys(metafile.outputs['dist/main.js']?.inputs ?? {});
const folders = packageFoldersOf([...inputs.map((input) => join(root, input)), ...page.inputs]);
writeFileSync(join(dist, 'THIRD-PARTY-LICENSES'), collectLicences(folders));
const bytes = metafile.outputs['dist/main.js']?.bytes ?? 0;
process.stdout.write(
  `${relative(root, join(dist, 'main.js'))}: ${Math.round(bytes / 1000)} kB, ${folders.length} packages\n`,
);
