import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { formatIgnored, loadCluster } from '../../demo/load-cluster.ts';
import { createApiServer } from '../../fake-apiserver/api-server.ts';
import { useFolder } from '../support/use-folder.ts';

let folder: string;

beforeEach(() => {
  folder = useFolder();
});

function write(name: string, content: unknown): string {
  const file = join(folder, name);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const NODE = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', resourceVersion: '7' } };
const SERVICE = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'shop' } };
const SLICE = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'web-1', namespace: 'shop' },
  addressType: 'IPv4',
  endpoints: [],
};
const SECRET = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' }, data: {} };

function list(...items: unknown[]) {
  return { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items };
}

describe('loadCluster()', () => {
  test('loads what kubectl get prints from several files, and counts the other kinds', () => {
    const server = createApiServer();
    const nodes = write('nodes.yaml', list(NODE, { kind: 'Pod' }));
    const others = write('others.json', list(SERVICE, SECRET, SLICE, SECRET));
    const ignored = loadCluster(server, [others, nodes]);
    expect(formatIgnored(ignored)).toBe(
      'ignored, because no policy depends on them: 2 Secret, 1 Pod',
    );
    expect(server.get('services', 'shop/web')).toBeDefined();
  });

  test.each([
    ['none.yaml', undefined, /there is no file .*none\.yaml\. Save your cluster with: kubectl get/],
    ['bad.yaml', 'a: [\n', /cannot use .*bad\.yaml: document 1: line 2: /],
    [
      'invalid.yaml',
      list({ ...NODE, metadata: {} }),
      /invalid\.yaml: document 1, item 1 \(Node\): metadata\.name/,
    ],
    [
      'nodes.yaml',
      list(SERVICE, SLICE),
      /nodes\.yaml contains no Node\. Save all kinds with: kubectl get/,
    ],
    ['empty.yaml', '', /contains no Node/],
    ['.', undefined, /has no .yaml, .yml or .json file\. Save your cluster with: kubectl get/],
  ])('the error of %s names the file and the way out', (name, content, message) => {
    const file = content === undefined ? join(folder, name) : write(name, content);
    expect(() => loadCluster(createApiServer(), [file])).toThrow(message);
  });
});
