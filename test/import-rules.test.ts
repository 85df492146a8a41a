import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const ROOT = resolve(import.meta.dirname, '..');

/** Imports that break a rule: the file, what it imports, and the rule. */
const PLANTED: readonly (readonly [from: string, to: string, rule: string])[] = [
  ['src/topology/policy/a.ts', 'src/topology/decide/x.ts', 'topology/policy'],
  ['src/topology/decide/a.ts', 'src/topology/state/x.ts', 'topology/decide'],
  ['src/topology/state/a.ts', 'src/filter/objects/x.ts', 'topology/state'],
  ['src/topology/state/b.ts', 'node:fs', 'topology'],
  ['src/text/a.ts', 'src/topology/policy/x.ts', 'text'],
  ['src/filter/objects/a.ts', 'src/filter/view/x.ts', 'filter/objects'],
  ['src/filter/codec/a.ts', 'src/filter/view/x.ts', 'filter/codec'],
  ['src/filter/codec/b.ts', 'node:zlib', 'zlib'],
  ['src/filter/view/a.ts', 'src/filter/projection/x.ts', 'filter/view'],
  ['src/filter/view/b.ts', 'node:net', 'filter'],
  ['src/filter/projection/a.ts', 'src/client/system/x.ts', 'filter/projection'],
  ['src/client/system/a.ts', 'src/client/api/x.ts', 'client/system'],
  ['src/client/api/a.ts', 'src/server/http/x.ts', 'client/api'],
  ['src/client/credentials/a.ts', 'src/client/api/x.ts', 'client/credentials'],
  ['src/client/upstream/a.ts', 'src/client/snapshot/x.ts', 'client/upstream'],
  ['src/client/snapshot/a.ts', 'src/client/reflector/x.ts', 'client/snapshot'],
  ['src/client/reflector/a.ts', 'src/node/own-watches/x.ts', 'client/reflector'],
  ['src/node/own-watches/a.ts', 'src/client/credentials/x.ts', 'node/own-watches'],
  ['src/node/local-runtime/a.ts', 'src/client/upstream/x.ts', 'node/local-runtime'],
  ['src/node/views/a.ts', 'src/server/http/x.ts', 'node/views'],
  ['src/server/http/a.ts', 'src/client/upstream/x.ts', 'server/http'],
  ['src/server/forward/a.ts', 'src/server/auth/x.ts', 'server/forward'],
  ['src/server/auth/a.ts', 'src/node/views/x.ts', 'server/auth'],
  ['src/server/hot-restart/a.ts', 'src/server/http/x.ts', 'server/hot-restart'],
  ['src/client/api/a.ts', 'src/server/http/x.ts', 'client'],
  ['src/client/reflector/a.ts', 'src/node/own-watches/x.ts', 'client'],
  ['src/node/views/a.ts', 'src/server/http/x.ts', 'node'],
  ['src/server/serving/a.ts', 'src/config/x.ts', 'server'],
  ['src/diagnosis/explain/a.ts', 'src/admin/explain/x.ts', 'diagnosis'],
  ['src/config/a.ts', 'src/admin/x.ts', 'config'],
  ['src/admin/a.ts', 'src/run/x.ts', 'admin'],
  ['src/admin/explain/a.ts', 'src/admin/status/x.ts', 'admin/explain'],
  ['src/admin/status/a.ts', 'src/admin/page/x.ts', 'admin/status'],
  ['src/admin/page/a.ts', 'src/admin/metrics/x.ts', 'admin/page'],
  ['src/admin/metrics/a.ts', 'src/admin/x.ts', 'admin/metrics'],
  ['cli/output/a.ts', 'cli/command-line/x.ts', 'cli/output'],
  ['cli/command-line/a.ts', 'cli/client/x.ts', 'cli/command-line'],
  ['cli/client/a.ts', 'cli/node/x.ts', 'cli/client'],
  ['cli/node/a.ts', 'cli/simulate/x.ts', 'cli/node'],
  ['cli/simulate/a.ts', 'cli/remote/x.ts', 'cli/simulate'],
  ['cli/remote/a.ts', 'cli/definitions/x.ts', 'cli/remote'],
  ['src/version.ts', 'cli/definitions/x.ts', 'src'],
  ['src/config/b.ts', 'src/run/x.ts', 'config'],
  ['cli/a.ts', 'cli/main.ts', 'programs'],
  ['src/errors.ts', 'demo/x.ts', 'src'],
  ['cli/d.ts', 'demo/x.ts', 'cli'],
  ['fake-apiserver/a.ts', 'src/errors.ts', 'fake-apiserver'],
  ['demo/a.ts', 'scripts/x.ts', 'demo'],
  ['web/a.ts', 'fake-apiserver/x.ts', 'web'],
  ['web/b.ts', 'node:fs', 'browser'],
  ['cli/b.ts', 'cli/c.ts', 'circle'],
];

let root: string;
let violations: string[];

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'import-rules-'));
  for (const [, to] of PLANTED) if (to.endsWith('x.ts')) write(to, 'export type X = string;\n');
  write('cli/main.ts', 'export type X = string;\n');
  write('cli/c.ts', 'export type { X } from "./b.ts";\n');
  for (const [from, to] of PLANTED) {
    const path = to.startsWith('node:') ? to : relative(dirname(from), to);
    const name = to.startsWith('node:') || path.startsWith('.') ? path : `./${path}`;
    // A type counts as well: it makes a room depend on the other one.
    write(from, `import type { X } from '${name}';\nexport type Y = X;\n`);
  }
  const program = join(ROOT, 'node_modules/.bin/depcruise');
  const options = ['--config', join(ROOT, '.dependency-cruiser.js'), '--output-type', 'json'];
  const json = execFileSync(program, [...options, 'src', 'cli', 'demo', 'fake-apiserver', 'web'], {
    cwd: root,
    encoding: 'utf8',
  });
  const { summary } = JSON.parse(json) as {
    summary: { violations: { from: string; to: string; rule: { name: string } }[] };
  };
  violations = summary.violations.map(({ from, to, rule }) => `${from} → ${to}: ${rule.name}`);
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

test.each(PLANTED)('%s may not import %s', (from, to, rule) => {
  expect(violations).toContain(`${from} → ${to.replace('node:', '')}: ${rule}`);
});

test('nothing else is refused', () => {
  expect(violations).toHaveLength(PLANTED.length);
});
