/** Makes dist/: main.js, the whole program in one file, and the licences of what went into it. */
import { rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, relative, resolve } from 'node:path';
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
 * What KubeConfig needs for a `proxy-url`, which is refused (credentials-kubeconfig.ts), and for requests of its
 * own, of which there are none: a third of the bundle.
 */
const PROXIES = /^(undici|socks|socks-proxy-agent|hpagent)$/;

const dropProxies: Plugin = {
  name: 'drop-proxies',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: PROXIES }, ({ path, importer }) =>
      importer.includes('/@kubernetes/client-node/') ? { path, namespace: 'dropped' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'dropped' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/**
 * An import of one of Node's modules asks for all its exports, also for those that are loaded only when asked
 * for: `node:http` exports WebSocket, and so loads all of fetch. A call of require asks for nothing. The
 * process has 13 MB less by that.
 */
const requireBuiltins: Plugin = {
  name: 'require-builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[a-z:/_]+$/ }, ({ path, kind }) =>
      kind === 'import-statement' && isBuiltin(path) ? { path, namespace: 'builtin' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
    }));
  },
};

const page = await bundlePage();

/** The page goes into the program, in the place of the module that makes it from source. */
const embedPage: Plugin = {
  name: 'embed-page',
  setup({ onLoad }) {
    const { inputs: _, ...assets } = page;
    onLoad({ filter: /\/src\/admin\/page\/load-page-assets\.ts$/ }, () => ({
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
  plugins: [requireBuiltins, dropUnused, dropLanguages, dropProxies, embedPage],
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
