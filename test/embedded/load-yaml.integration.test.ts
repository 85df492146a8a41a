import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { createApiServer } from '../../embedded/api-server.ts';

const CLUSTER = readFileSync(new URL('../../examples/cluster.yaml', import.meta.url), 'utf8');

const NODE = 'apiVersion: v1\nkind: Node\nmetadata: { name: edge-1, labels: { site: a } }\n';

describe('loadYaml()', () => {
  test('creates the objects of all documents, and replaces them if loaded again', () => {
    const server = createApiServer();
    const text = `# a comment\n---\n${NODE}---\n# nothing\n---\napiVersion: v1\nkind: Service\nmetadata: { name: web }\n`;
    expect(server.loadYaml(text)).toBe(2);
    const before = server.get('nodes', 'edge-1');
    expect(server.loadYaml(text)).toBe(2);
    expect(server.get('nodes', 'edge-1')).toBe(before);
    server.loadYaml(NODE.replace('site: a', 'site: b'));
    expect(server.get('nodes', 'edge-1')?.metadata).toMatchObject({
      uid: before?.metadata.uid,
      labels: { site: 'b' },
    });
  });

  test('accepts a List, a typed list whose items have no kind, and versions of another server', () => {
    const server = createApiServer();
    const list = {
      apiVersion: 'v1',
      kind: 'List',
      items: [{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } }],
    };
    const typed = {
      apiVersion: 'v1',
      kind: 'NodeList',
      metadata: { resourceVersion: '77' },
      items: [{ metadata: { name: 'b', resourceVersion: '70', uid: 'x' } }],
    };
    const text = `${JSON.stringify(list)}\n---\n${JSON.stringify(typed)}`;
    expect([server.loadYaml(text), server.loadYaml(text)]).toEqual([2, 2]);
    expect(server.list('nodes').map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
  });

  test('reports objects that it does not store, if the caller wants to ignore them', () => {
    const server = createApiServer();
    const kinds: string[] = [];
    const text = `${NODE}---\nkind: Secret\napiVersion: v1\n---\nreplicas: 3\n`;
    expect(server.loadYaml(text, { onUnknownKind: (kind) => kinds.push(kind) })).toBe(1);
    expect(kinds).toEqual(['Secret', 'object without kind']);
  });

  test.each([
    ['---\na: [\n', 'document 1: line 3: '],
    [
      `${NODE}---\nkind: Pod\napiVersion: v1\nmetadata: { name: p, namespace: n }\n`,
      'document 2 (Pod n/p): unknown kind Pod of apiVersion v1',
    ],
    [`# text\n---\n${NODE}---\n${NODE}---\n  x: y: z\n`, 'document 3: line '],
    ['just text', 'document 1: not an object'],
    [
      'kind: Node\napiVersion: v2\nmetadata: { name: a }',
      'document 1 (Node a): unknown kind Node of apiVersion v2',
    ],
    ['kind: Node\napiVersion: v1', 'document 1 (Node): metadata: Required value'],
    ['kind: List\napiVersion: v1\nitems: {}', 'document 1 (List): items is not a list'],
    [
      'kind: Node\napiVersion: v1\nmetadata: { name: a, labels: { edge: true } }',
      'document 1 (Node a): metadata.labels: Invalid value: the value of edge is true; must be a string, so quote it',
    ],
    [
      'kind: EndpointSlice\napiVersion: discovery.k8s.io/v1\nmetadata: { name: a }\naddressType: IPv4\nendpoints: [{}]',
      'document 1 (EndpointSlice a): endpoints[0].addresses: Required value',
    ],
    [
      'kind: List\napiVersion: v1\nitems: [{ kind: Service, apiVersion: v1, metadata: { name: a }, spec: { ports: [{}] } }]',
      'document 1, item 1 (Service a): spec.ports[0].port: Invalid value: must be between 1 and 65535',
    ],
  ])('names the document at fault: %j', (text, message) => {
    const server = createApiServer();
    expect(() => server.loadYaml(text)).toThrow(message);
    expect(server.resourceVersion).toBe(1);
  });
});

describe('examples/cluster.yaml', () => {
  const server = createApiServer();
  server.loadYaml(CLUSTER);

  test('has five nodes at two sites and in a region of two zones', () => {
    const labels = server.list('nodes').map(({ metadata }) => {
      const { site, 'topology.kubernetes.io/zone': zone } = metadata.labels ?? {};
      return [metadata.name, site ?? zone];
    });
    expect(Object.fromEntries(labels)).toEqual({
      'edge-1': 'a',
      'edge-2': 'a',
      'edge-3': 'b',
      'cloud-1': 'eu-central-1a',
      'cloud-2': 'eu-central-1b',
    });
  });

  test('has valid topology keys on all Services but plain', () => {
    const keys = server.list('services').map(({ metadata }) => {
      const value = metadata.annotations?.topologyKeys;
      return [metadata.name, value === undefined ? undefined : JSON.parse(value)];
    });
    expect(Object.fromEntries(keys)).toEqual({
      web: ['kubernetes.io/hostname', 'site', '*'],
      db: ['site', 'topology.kubernetes.io/region', '*'],
      dns: ['kubernetes.io/hostname', 'site', 'topology.kubernetes.io/zone', '*'],
      'nearby-only': ['kubernetes.io/hostname', 'site'],
      plain: undefined,
    });
  });

  test('has slices only of its Services, with endpoints only on its nodes', () => {
    const services = server.list('services').map(({ metadata }) => metadata.name);
    const nodes = server.list('nodes').map(({ metadata }) => metadata.name);
    for (const { metadata, endpoints } of server.list('endpointslices')) {
      expect(services).toContain(metadata.labels?.['kubernetes.io/service-name']);
      for (const endpoint of endpoints as { nodeName: string; zone?: string }[]) {
        expect(nodes).toContain(endpoint.nodeName);
        const { labels } = server.get('nodes', endpoint.nodeName)?.metadata ?? {};
        expect(endpoint.zone).toBe(labels?.['topology.kubernetes.io/zone']);
      }
    }
  });
});
