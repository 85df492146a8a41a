import { describe, expect, test } from '@jest/globals';
import { discoveryOf } from '../../../src/client/api/discovery.ts';
import { parseRequestInfo } from '../../../src/client/api/request-info.ts';
import { RESOURCES } from '../../../src/filter/objects/resource.ts';

const PLURALS = RESOURCES.map(({ plural }) => plural).sort();

// biome-ignore lint/suspicious/noExplicitAny: the documents are those of Kubernetes
function read(path: string): any {
  return JSON.parse(discoveryOf(path)?.toString() ?? 'null');
}

describe('discoveryOf()', () => {
  test('leads from the roots to each collection that views serve, and to nothing else', () => {
    const groups: { preferredVersion: { groupVersion: string } }[] = read('/apis').groups;
    const roots = [
      ...read('/api').versions.map((version: string) => `/api/${version}`),
      ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`),
    ];
    const found = roots.flatMap((root: string) =>
      read(root).resources.map(({ name }: { name: string }) => {
        expect(parseRequestInfo(`${root}/${name}`).kind).toBe('collection');
        return name;
      }),
    );
    expect(found.sort()).toEqual(PLURALS);
  });

  test('describes a resource as kubectl needs it', () => {
    expect(read('/api/v1')).toMatchObject({ kind: 'APIResourceList', groupVersion: 'v1' });
    expect(read('/api/v1').resources).toContainEqual({
      name: 'services',
      singularName: 'service',
      kind: 'Service',
      namespaced: true,
      shortNames: ['svc'],
      categories: ['all'],
      verbs: ['get', 'list', 'watch'],
    });
    expect(read('/apis/networking.k8s.io')).toMatchObject({
      kind: 'APIGroup',
      name: 'networking.k8s.io',
      preferredVersion: { groupVersion: 'networking.k8s.io/v1', version: 'v1' },
    });
  });

  test.each(['/api', '/apis', '/api/v1', '/apis/discovery.k8s.io/v1', '/version'])(
    '%s may end in a slash, as kr8s and kopf send it',
    (path) => {
      expect(read(`${path}/`)).toEqual(read(path));
      expect(read(path)).not.toBeNull();
    },
  );

  test('/version is one of Kubernetes, in the form that clients parse', () => {
    const { major, minor, gitVersion } = read('/version');
    expect(gitVersion).toMatch(new RegExp(`^v${major}\\.${minor}\\.0\\+[a-z-]+$`));
  });

  test.each([
    '/',
    '//',
    '/api//',
    '/api/v2',
    '/apis/apps',
    '/apis/apps/v1',
    '/versions',
    '/openapi/v3',
    '/api/v1/pods',
  ])('%s is not a document of discovery', (path) => {
    expect(discoveryOf(path)).toBeUndefined();
  });
});
