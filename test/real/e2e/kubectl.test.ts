import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { kubeconfigFor } from '../../../fake-apiserver/kubeconfig.ts';
import { ensureBinaries } from '../../../harness/process/binaries.ts';
import { runCommand } from '../../../harness/process/run-command.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { useFolder } from '../../support/use-folder.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useCluster, useWrapper } from '../../support/wrapper/use.ts';

/*
 * A stock kubectl over plain http. It reads discovery before anything else. When discovery was refused, `kubectl get`
 * failed with "unknown".
 */

const folder = useFolder();
let server: ApiServer;
let proxy: NodeProxy;
let program: string;

beforeAll(async () => {
  ({ kubectl: program } = await ensureBinaries());
  server = useCluster();
  putService(server, 'web', ['kubernetes.io/hostname', '*']);
  putSlice(server, 'web-1', 'web', [
    { ip: '10.0.0.1', node: 'edge-1' },
    { ip: '10.0.0.2', node: 'edge-2' },
  ]);
  proxy = await useWrapper(await server.listen());
  writeFileSync(join(folder, 'kubeconfig'), kubeconfigFor(proxy.url));
}, 600_000);

const flags = () => [
  '--kubeconfig',
  join(folder, 'kubeconfig'),
  '--cache-dir',
  join(folder, 'cache'),
];
const kubectl = async (...args: string[]): Promise<string> =>
  await runCommand(program, [...flags(), ...args]);

test('lists what the wrapper serves', async () => {
  const names = (await kubectl('api-resources', '-o', 'name')).trim().split('\n').sort();
  expect(names).toEqual([
    'endpoints',
    'endpointslices.discovery.k8s.io',
    'nodes',
    'servicecidrs.networking.k8s.io',
    'services',
  ]);
});

test.each([
  [['get', 'svc'], 'web'],
  [['get', 'all'], 'web'],
  [['get', 'endpointslices', '-A'], 'web-1'],
  [['get', 'endpointslice', 'web-1', '-o', 'jsonpath={.endpoints[*].addresses[0]}'], '10.0.0.1'],
  [
    ['get', 'services', '-l', '!x', '--field-selector', 'metadata.name=web', '-o', 'name'],
    'service/web',
  ],
  [['get', 'node', 'edge-1'], 'edge-1'],
])('kubectl %j shows %s', async (args, expected) => {
  expect(await kubectl(...args)).toContain(expected);
});

/** The arguments of the commands of docs/identity.md, for this wrapper and its Service. */
const DOCUMENTED = Array.from(
  readFileSync('docs/identity.md', 'utf8').matchAll(/^kubectl --server \S+ (.+?)(?: --watch)?$/gm),
  ([, args = '']) => [args.replace('-n shop', '-n default')] as const,
);

test.each(DOCUMENTED)('docs/identity.md: kubectl %s is answered', async (args) => {
  expect(await kubectl(...args.split(' '))).toMatch(/web|edge-1/);
});

const ADDRESSES = '-o=jsonpath={.metadata.name} {.endpoints[*].addresses[0]}{"\\n"}';

test.each<[what: string, args: string[], before: string, after: string]>([
  ['all slices', [ADDRESSES], 'web-1 10.0.0.1', 'web-1 10.0.0.2'],
  ['one slice by name', ['web-1', ADDRESSES], 'web-1 10.0.0.1', 'web-1 10.0.0.2'],
  // As a table kubectl shows name and age only.
  ['all slices without a format', ['--no-headers'], 'web-1', 'web-1'],
])('kubectl get -w follows %s', async (_, which, before, after) => {
  const args = [...flags(), 'get', 'endpointslices', ...which, '--watch'];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  // The age of an object changes.
  const lines = () =>
    output
      .trim()
      .split('\n')
      .map((line) => line.replace(/ {3}.*$/, ''));
  try {
    await eventually(lines, [before]);
    // kubectl has printed the object itself, and does not print the first event of the watch of one name.
    await eventually(() => proxy.listeners.watches, 1);
    putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.2', node: 'edge-2' }]);
    await eventually(lines, [before, after]);
  } finally {
    child.kill();
    await eventually(() => proxy.listeners.watches, 0);
    putSlice(server, 'web-1', 'web', [
      { ip: '10.0.0.1', node: 'edge-1' },
      { ip: '10.0.0.2', node: 'edge-2' },
    ]);
  }
});

test('what is not served has a message', async () => {
  await expect(kubectl('get', 'pods')).rejects.toThrow(`doesn't have a resource type "pods"`);
  await expect(kubectl('get', 'nodes')).rejects.toThrow('only the Node of this machine');
});
