import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import nodeClient from '../../node_modules/@kubernetes/client-node/package.json' with {
  type: 'json',
};
import { PYTHON_CLIENT } from '../versions/support/python.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const text = readFileSync(join(ROOT, 'docs/support.md'), 'utf8');
const [, tested = ''] = text.split('\n## Tested versions\n');

/** Versions in the rows of the first table that are about this. */
function documented(what: string): Set<string> {
  const rows = [...tested.matchAll(/^\| ([^|]+?) +\| ([^|]+?) +\|/gm)];
  return new Set(
    rows.filter(([, name]) => name === what).flatMap(([, , cell = '']) => cell.split(', ')),
  );
}

const ALL = 'test/{e2e,versions}/**/go.mod';

/** Contents of the modules of the test components. */
function modules(files = ALL): string[] {
  return globSync(files, { cwd: ROOT }).map((file) => readFileSync(join(ROOT, file), 'utf8'));
}

/** Versions of a module that these require. */
function required(module: string, files = modules()): Set<string> {
  const versions = files.flatMap((file) =>
    [...file.matchAll(/^\s*(?:require )?(\S+) v(\S+)/gm)]
      .filter(([, name]) => name === module)
      .map(([, , version = '']) => version),
  );
  return new Set(versions);
}

/** Versions of a program of Kubernetes that the tests build. */
function built(program: string): Set<string> {
  const tool = new RegExp(`^(tool )?\\s*k8s[.]io/kubernetes/cmd/${program}$`, 'm');
  return required(
    'k8s.io/kubernetes',
    modules().filter((file) => tool.test(file)),
  );
}

test.each([
  ['kube-proxy', built('kube-proxy')],
  ['API server', built('kube-apiserver')],
  ['kubectl', built('kubectl')],
  ['client-go', required('k8s.io/client-go', modules('test/e2e/informer/go.mod'))],
  ['CoreDNS', required('github.com/coredns/coredns')],
  ["Traefik's Ingress provider", required('github.com/traefik/traefik/v3')],
  ['Kubernetes client, Python', new Set([PYTHON_CLIENT])],
  ['Kubernetes client, Node.js', new Set([nodeClient.version])],
])('docs/support.md has the versions of %s that the tests run, and no others', (what, versions) => {
  expect(versions.size).toBeGreaterThan(0);
  expect(documented(what)).toEqual(versions);
});

test('it has the etcd that the tests build', () => {
  const [etcd] = required('go.etcd.io/etcd/server/v3', modules('test/e2e/components/etcd/go.mod'));
  expect(tested).toContain(`etcd ${etcd} `);
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
