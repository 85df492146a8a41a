import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readManifests } from '../../cli/simulate/read-manifests.ts';
import { useFolder } from '../support/use-folder.ts';

function write(...documents: unknown[]): string {
  const file = join(useFolder(), 'objects.yaml');
  writeFileSync(file, documents.map((each) => JSON.stringify(each)).join('\n---\n'));
  return file;
}

const list = (...items: unknown[]) => ({ apiVersion: 'v1', kind: 'List', items });
const node = (name: string, site: string) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { site } },
});
const service = (namespace: string | undefined, type: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace },
  spec: { type },
});
const slice = (name: string, address: string, apiVersion = 'discovery.k8s.io/v1') => ({
  apiVersion,
  kind: 'EndpointSlice',
  addressType: 'IPv4',
  metadata: { name, labels: { 'kubernetes.io/service-name': 'web' } },
  endpoints: [{ addresses: [address] }],
});

// With two overlapping dumps, each endpoint once counted twice and each node had two columns.
test('if an object occurs more than once, the last one counts, as with kubectl apply', () => {
  const before = write(
    list(node('n1', 'a'), node('n2', 'a'), service('default', 'NodePort'), slice('s', '10.0.0.1')),
  );
  const after = write(
    list(node('n1', 'b'), service(undefined, 'ClusterIP'), service('shop', 'LoadBalancer')),
    slice('s', '10.0.0.2', 'discovery.k8s.io/v1beta1'),
  );
  const { nodes, services, slices } = readManifests([before, after]);
  expect(nodes.map(({ name, labels }) => [name, labels.get('site')])).toEqual([
    ['n1', 'b'],
    ['n2', 'a'],
  ]);
  expect(services.map(({ namespace, type }) => [namespace, type])).toEqual([
    ['default', 'ClusterIP'],
    ['shop', 'LoadBalancer'],
  ]);
  expect(slices.map(({ addresses }) => addresses)).toEqual([['10.0.0.2']]);
});

test('objects without a name are different objects', () => {
  const unnamed = { ...slice('', '10.0.0.1'), metadata: { generateName: 'web-' } };
  expect(readManifests([write(unnamed, unnamed)]).slices).toHaveLength(2);
});

// It was a column or a row without a name.
test.each([
  ['Node', node('', 'a')],
  ['Service', service('shop', 'ClusterIP')],
])('a %s without a name is refused', (kind, object) => {
  const unnamed = { ...object, metadata: { generateName: 'x-' } };
  const file = write(unnamed);
  const message = `cannot read ${file}: a ${kind} has no name`;
  expect(() => readManifests([file])).toThrow(expect.objectContaining({ message }));
});

// A Service of Knative has the same name as the Kubernetes Service that it creates.
test('a kind with the same name in another API group is ignored', () => {
  const knative = { ...service('default', ''), apiVersion: 'serving.knative.dev/v1' };
  const typed = { apiVersion: 'serving.knative.dev/v1', kind: 'ServiceList', items: [{}] };
  const { services } = readManifests([write(service('default', 'ClusterIP'), knative, typed)]);
  expect(services.map(({ type }) => type)).toEqual(['ClusterIP']);
});

test.each([
  [service('shop', 'ClusterIP'), 'Service shop/web'],
  [service(undefined, 'ClusterIP'), 'Service default/web'],
  [node('n1', 'a'), 'Node n1'],
])('an error names the object and the file: %j', (object, name) => {
  const wrong = { ...object, metadata: { ...object.metadata, annotations: { a: 1 } } };
  const file = write(list(wrong));
  const message = `cannot read ${name} in ${file}: 'annotations' is not a string`;
  expect(() => readManifests([file])).toThrow(expect.objectContaining({ message }));
});

test('items of a list may have no kind', () => {
  const { metadata } = node('n1', 'a');
  const { nodes } = readManifests([
    write({ apiVersion: 'v1', kind: 'NodeList', items: [{ metadata }] }),
  ]);
  expect(nodes.map(({ name }) => name)).toEqual(['n1']);
});
