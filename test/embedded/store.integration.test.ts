import { describe, expect, test } from '@jest/globals';
import { node, service, useApiServer } from '../support/embedded/embedded-server.ts';

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

  test('stores and returns only frozen objects', async () => {
    const { server } = await start();
    const given = { metadata: { name: 'edge-1', labels: { site: 'a' } } };
    const stored = server.create('nodes', given);
    given.metadata.labels.site = 'b';
    expect(server.get('nodes', 'edge-1')?.metadata.labels).toEqual({ site: 'a' });
    expect(() => Object.assign(stored.metadata.labels ?? {}, { site: 'c' })).toThrow(TypeError);
  });
});
