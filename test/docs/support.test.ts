import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const text = readFileSync(join(ROOT, 'docs/support.md'), 'utf8');
const [, tested = ''] = text.split('\n## Tested versions\n');

/** First cells of the rows of a section. */
function firstCells(section: string): Set<string> {
  const [, body = ''] = tested.split(`\n### ${section}\n`);
  const [table = ''] = body.split('\n#');
  const cells = [...table.matchAll(/^\| ([^|]+?) +\|/gm)].map(([, cell = '']) => cell);
  return new Set(cells.filter((cell) => /\d/.test(cell)));
}

/** Versions of a module that the test components of this repository require. */
function required(module: string, files = 'test/e2e/**/go.mod'): Set<string> {
  const found = globSync(files, { cwd: ROOT }).flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^\s*(?:require )?(\S+) v(\S+)/gm)]
      .filter(([, name]) => name === module)
      .map(([, , version = '']) => version),
  );
  return new Set(found);
}

// kube-apiserver and kubectl are of the newest of these.
test('docs/support.md has the kube-proxies that the tests build, and no others', () => {
  const versions = required('k8s.io/kubernetes');
  expect(versions.size).toBeGreaterThan(1);
  expect(firstCells('kube-proxy')).toEqual(versions);
});

test('and the API server, etcd, client-go and kubectl that the tests build', () => {
  const [newest = ''] = required('k8s.io/kubernetes', 'test/e2e/components/kubernetes-1.36/go.mod');
  expect(firstCells('API server')).toEqual(new Set([newest]));
  const [etcd] = required('go.etcd.io/etcd/server/v3', 'test/e2e/components/etcd/go.mod');
  expect(tested).toContain(`etcd ${etcd} `);
  const [clientGo] = required('k8s.io/client-go', 'test/e2e/informer/go.mod');
  expect(firstCells('Other clients')).toEqual(
    new Set([`client-go ${clientGo}`, `kubectl ${newest}`]),
  );
});

test('its commands name scripts and tests that exist', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const commands = [...text.matchAll(/`npm (?:run )?(\S+?)(?: -- --testPathPatterns (\S+))?`/g)];
  expect(commands.length).toBeGreaterThan(9);
  for (const [, script = '', path] of commands) {
    expect(Object.keys(scripts)).toContain(script);
    if (path === undefined) continue;
    const files = ['.ts', '.test.ts', '.integration.test.ts'].map((end) => path + end);
    expect([path, files.some((file) => existsSync(join(ROOT, file)))]).toEqual([path, true]);
  }
});
