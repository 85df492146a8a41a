import { describe, expect, test } from '@jest/globals';
import { createApiServer } from '../../fake-apiserver/api-server.ts';

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
    ['kind: List\napiVersion: v1\nitems: {}', 'document 1 (List): items is not a list'],
    [
      'kind: Node\napiVersion: v1\nmetadata: { name: a, labels: { edge: true } }',
      'document 1 (Node a): metadata.labels: Invalid value: the value of edge is true; must be a string, so quote it',
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
