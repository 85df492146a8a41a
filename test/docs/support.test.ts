import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { CLIENTS } from '../../harness/clients/clients.ts';
import { SUITES } from '../../scripts/test.ts';

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

const ALL = 'harness/{components,versions}/**/go.mod';

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

/** Versions of a library that the clients' suite installs. */
function installed(library: string): Set<string> {
  return new Set(CLIENTS.filter(({ name }) => name === library).map(({ version }) => version));
}

test.each([
  ['kube-proxy', built('kube-proxy')],
  ['API server', built('kube-apiserver')],
  ['kubectl', built('kubectl')],
  ['client-go', required('k8s.io/client-go', modules('harness/components/informer/go.mod'))],
  ['CoreDNS', required('github.com/coredns/coredns')],
  ["Traefik's Ingress provider", required('github.com/traefik/traefik/v3')],
  ['Kubernetes client, Python', installed('kubernetes')],
  ['Kubernetes client, Node.js', installed('@kubernetes/client-node')],
])('docs/support.md has the versions of %s that the tests run, and no others', (what, versions) => {
  expect(versions.size).toBeGreaterThan(0);
  expect(documented(what)).toEqual(versions);
});

test('it has the etcd that the tests build', () => {
  const [etcd] = required('go.etcd.io/etcd/server/v3', modules('harness/components/etcd/go.mod'));
  expect(tested).toContain(`etcd ${etcd} `);
});

test('its commands name suites and tests that exist', () => {
  const commands = [...text.matchAll(/`npm test (\S+?)(?: (\S+))?`/g)];
  expect(commands.length).toBeGreaterThan(9);
  for (const [, suite = '', path] of commands) {
    expect(Object.keys(SUITES)).toContain(suite);
    if (path === undefined) continue;
    const files = ['.ts', '.test.ts', '.integration.test.ts'].map((end) => path + end);
    expect([path, files.some((file) => existsSync(join(ROOT, file)))]).toEqual([path, true]);
  }
});
