import { describe, expect, test } from '@jest/globals';
import { node, service, slice, useApiServer } from '../support/embedded/embedded-server.ts';

const start = useApiServer();

describe('the store', () => {
  test('gives each write the next version, whatever its collection', async () => {
    const { server } = await start({ initialResourceVersion: 10 });
    const versions = [
      server.create('nodes', node('edge-1')),
      server.create('services', service('web')),
      server.label('edge-1', 'site', 'a'),
      server.annotate('default/web', 'topologyKeys', '["*"]'),
      server.delete('nodes', 'edge-1'),
    ].map((object) => object.metadata.resourceVersion);
    expect(versions).toEqual(['11', '12', '13', '14', '15']);
    expect(server.resourceVersion).toBe(15);
  });

  test('does not write an unchanged object', async () => {
    const { server } = await start();
    const first = server.create('nodes', node('edge-1', { site: 'a' }));
    expect(server.label('edge-1', 'site', 'a')).toBe(first);
    expect(server.resourceVersion).toBe(2);
  });

  test('an update keeps uid and creation time, and a new object of the same name gets new ones', async () => {
    const { server } = await start();
    const first = server.create('nodes', node('edge-1')).metadata;
    const second = server.update('nodes', node('edge-1', { site: 'a' })).metadata;
    expect([second.uid, second.creationTimestamp]).toEqual([first.uid, first.creationTimestamp]);
    server.delete('nodes', 'edge-1');
    expect(server.create('nodes', node('edge-1')).metadata.uid).not.toBe(first.uid);
  });

  test('label() and annotate() with null remove the key', async () => {
    const { server } = await start();
    server.create('nodes', node('edge-1', { site: 'a', edge: '' }));
    server.create('services', service('web'));
    expect(server.label('edge-1', 'site', null).metadata.labels).toEqual({ edge: '' });
    server.annotate('web', 'topologyKeys', '[]');
    expect(server.annotate('default/web', 'topologyKeys', null).metadata.annotations).toEqual({});
  });

  test('raises the generation of a slice with its content, and gives Nodes and Services none', async () => {
    const { server } = await start();
    const created = server.create('endpointslices', slice('web-1', 'web', ['10.0.0.1']));
    expect(created.metadata.generation).toBe(1);
    const annotated = server.patch('endpointslices', 'web-1', {
      metadata: { annotations: { a: 'b' } },
    });
    expect(annotated.metadata.generation).toBe(1);
    const changed = server.patch('endpointslices', 'web-1', { endpoints: [] });
    expect(changed.metadata.generation).toBe(2);
    const labelled = server.patch('endpointslices', 'web-1', { metadata: { labels: { a: 'b' } } });
    expect(labelled.metadata.generation).toBe(3);
    expect(server.create('services', service('web')).metadata).not.toHaveProperty('generation');
    expect(server.create('nodes', node('edge-1')).metadata).not.toHaveProperty('generation');
  });

  test('stores and returns only frozen objects', async () => {
    const { server } = await start();
    const given = { metadata: { name: 'edge-1', labels: { site: 'a' } } };
    const stored = server.create('nodes', given);
    given.metadata.labels.site = 'b';
    expect(server.get('nodes', 'edge-1')?.metadata.labels).toEqual({ site: 'a' });
    expect(() => Object.assign(stored.metadata.labels ?? {}, { site: 'c' })).toThrow(TypeError);
  });

  test('sets the defaults that an API server sets in a Service', async () => {
    const { server } = await start();
    const { spec, status } = server.create('services', service('web'));
    expect(spec).toMatchObject({
      type: 'ClusterIP',
      clusterIP: expect.stringMatching(/^10\.\d+\.\d+\.\d+$/),
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
    });
    expect(status).toEqual({ loadBalancer: {} });
    const nodePort = server.create('services', service('np', { type: 'NodePort' }));
    expect(nodePort.spec).toMatchObject({ externalTrafficPolicy: 'Cluster' });
    expect(spec).not.toHaveProperty('externalTrafficPolicy');
    const headless = server.create('services', service('db', { clusterIP: 'None' }));
    expect(headless.spec).toMatchObject({ clusterIP: 'None', clusterIPs: ['None'] });
  });

  test('keeps the cluster IP of a Service that is replaced by one without a cluster IP', async () => {
    const { server } = await start();
    server.create('services', service('web', { clusterIP: '10.96.7.7' }));
    const replaced = server.update('services', service('web', { selector: { app: 'web' } }));
    expect(replaced.spec).toMatchObject({ clusterIP: '10.96.7.7', selector: { app: 'web' } });
  });

  test('a namespaced object without a namespace is in default', async () => {
    const { server } = await start();
    server.create('services', { metadata: { name: 'web' } });
    expect(server.get('services', 'default/web')).toBe(server.get('services', 'web'));
    expect(server.get('services', 'web')?.metadata.namespace).toBe('default');
  });

  test.each([
    ['a name that is taken', 409, 'AlreadyExists', (s) => s.create('nodes', node('edge-1'))],
    ['an update of nothing', 404, 'NotFound', (s) => s.update('nodes', node('edge-2'))],
    ['a deletion of nothing', 404, 'NotFound', (s) => s.delete('services', 'default/web')],
    ['a label of nothing', 404, 'NotFound', (s) => s.label('edge-2', 'a', 'b')],
    [
      'a stale version',
      409,
      'Conflict',
      (s) => s.update('nodes', { metadata: { name: 'edge-1', resourceVersion: '1' } }),
    ],
    [
      'the uid of another',
      409,
      'Conflict',
      (s) => s.update('nodes', { metadata: { name: 'edge-1', uid: 'x' } }),
    ],
    ['no name', 422, 'Invalid', (s) => s.create('nodes', node(''))],
    ['a name in capitals', 422, 'Invalid', (s) => s.create('nodes', node('Edge'))],
    [
      'a slice without addressType',
      422,
      'Invalid',
      (s) => s.create('endpointslices', { metadata: { name: 'a' } }),
    ],
    [
      'a patch with an invalid result',
      422,
      'Invalid',
      (s) => s.patch('nodes', 'edge-1', { metadata: { labels: { a: 1 } } }),
    ],
  ] as [string, number, string, (server: Server) => unknown][])(
    'refuses %s: %d %s, and nothing is written',
    async (_, code, reason, write) => {
      const { server } = await start();
      server.create('nodes', node('edge-1'));
      expect(() => write(server)).toThrow(
        expect.objectContaining({ status: expect.objectContaining({ code, reason }) }),
      );
      expect(server.resourceVersion).toBe(2);
    },
  );
});

type Server = Awaited<ReturnType<typeof start>>['server'];
