/**
 * Builds dist/: main.js, listens.js, kubectl-kpw.js, kubectl_complete-kpw.js and demo.js, the parts that they load, the
 * page, and the licences of their packages.
 */
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { buildPage } from './build-page.ts';
import { collectLicences, packageFoldersOf } from './licences.ts';

const root = resolve(import.meta.dirname, '..');
const dist = join(root, 'dist');
/**
 * Replaces dist when it is complete, because programs may run from there meanwhile. Beside it, so that source maps fit.
 */
const building = join(root, 'dist.new');

/**
 * Packages without side effects that do not declare it. The program does not use the generated API classes of
 * client-node. Loading them all would cost more memory than 10,000 Services.
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

/** What packages load for parts of them that the program does not use, by the package that loads it. */
const UNUSED: Readonly<Record<string, readonly string[]>> = {
  // For a `proxy-url`, and for azure and gcp, which the program refuses (credentials-reader.ts); and for its own
  // requests.
  '@kubernetes/client-node': ['undici', 'socks', 'socks-proxy-agent', 'hpagent', 'jsonpath-plus'],
  // The program has metrics of its own of the process, which is one.
  '@prometheus-io/client': ['./lib/(cluster|worker|pushgateway|summary|defaultMetrics)'],
  // For transports, which are threads.
  pino: ['thread-stream'],
  // A part of fetch, for bodies that are forms.
  undici: ['\\.\\./web/.+'],
};

const dropUnusedParts: Plugin = {
  name: 'drop-unused-parts',
  setup({ onResolve, onLoad }) {
    for (const [user, parts] of Object.entries(UNUSED)) {
      onResolve({ filter: new RegExp(`^(${parts.join('|')})$`) }, ({ path, importer }) =>
        importer.includes(`/node_modules/${user}/`) ? { path, namespace: 'dropped' } : undefined,
      );
    }
    onLoad({ filter: /.*/, namespace: 'dropped' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/** What the program imports of undici. Its index loads fetch, caches and more, 14 MB of memory. */
const UNDICI = `
module.exports = {
  Client: require('undici/lib/dispatcher/client.js'),
  Pool: require('undici/lib/dispatcher/pool.js'),
};
require('undici/lib/dispatcher/dispatcher.js').prototype.request = require('undici/lib/api/api-request.js');
`;

const undiciParts: Plugin = {
  name: 'undici-parts',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici$/ }, () => ({ path: 'undici', namespace: 'undici-parts' }));
    onLoad({ filter: /.*/, namespace: 'undici-parts' }, () => ({
      contents: UNDICI,
      resolveDir: root,
    }));
  },
};

/** Parts of undici that the program uses, without its fetch and its second parser of HTTP/1.1, a third of a MB. */
const MAX_UNDICI_BYTES = 350_000;

/**
 * An import of a Node.js module loads all its exports, including the lazy ones: `node:http` exports WebSocket, which
 * loads all of fetch. A call of require does not load them. That saves 13 MB of memory.
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

rmSync(building, { recursive: true, force: true });
const inputs = new Set(await buildPage(building));
const { metafile } = await build({
  absWorkingDir: root,
  // The programs of package.json, `bin`, that of the startup probe, and the demo, which the command `demo` imports. The
  // Dockerfile has no demo/.
  entryPoints: {
    main: 'cli/main.ts',
    listens: 'cli/listens.ts',
    'kubectl-kpw': 'cli/kubectl-kpw.ts',
    'kubectl_complete-kpw': 'cli/kubectl-complete-kpw.ts',
    ...(existsSync(join(root, 'demo')) ? { demo: 'demo/run-demo.ts' } : {}),
  },
  outdir: building,
  bundle: true,
  // Each command is loaded when it is called, so that the process on the nodes has only what `run` needs in memory.
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  // The source stays in memory, so it is minified. Names stay readable in stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  // Next to the program, but not in the package (package.json, files): it is twice as big.
  sourcemap: 'external',
  sourcesContent: false,
  // CommonJS packages load Node.js modules with require, which an ES module does not have.
  banner: {
    js: "import{createRequire as nodeCreateRequire}from'node:module';const require=nodeCreateRequire(import.meta.url);",
  },
  // Undici leaves out its second parser of HTTP/1.1, as in Node.js itself.
  define: { esbuildDetection: 'true' },
  plugins: [requireBuiltins, dropUnused, dropUnusedParts, undiciParts],
  metafile: true,
  logLevel: 'warning',
});
for (const [file, { bytes, inputs: from }] of Object.entries(metafile.outputs)) {
  for (const input of Object.keys(from)) inputs.add(join(root, input));
  const undici = Object.entries(from).filter(([input]) => input.includes('/undici/'));
  const undiciBytes = undici.reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0);
  if (undiciBytes > MAX_UNDICI_BYTES) throw new Error(`${undiciBytes} bytes of undici in ${file}`);
  if (file.endsWith('.js'))
    process.stdout.write(`${basename(file)}: ${Math.round(bytes / 1000)} kB\n`);
}
const folders = packageFoldersOf([...inputs]);
writeFileSync(join(building, 'THIRD-PARTY-LICENSES'), collectLicences(folders));
rmSync(dist, { recursive: true, force: true });
renameSync(building, dist);
process.stdout.write(`${folders.length} packages\n`);
