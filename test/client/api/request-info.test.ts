import { describe, expect, test } from '@jest/globals';
import { parseRequestTarget } from '../../../src/client/api/request-info.ts';

const SLICES = '/apis/discovery.k8s.io/v1';

function parse(url: string): { kind: string; resource: string; namespace: string; query: string } {
  const [path = '', query = ''] = url.split('?');
  const target = parseRequestTarget(path, new URLSearchParams(query));
  expect(target.path).toBe(path);
  const { info } = target;
  if (info.kind === 'other') return { kind: 'other', resource: '', namespace: '', query };
  const { kind, resource, namespace } = info;
  return {
    kind,
    resource: resource.plural,
    namespace,
    query: decodeURIComponent(`${target.query}`),
  };
}

describe('a deprecated watch path is a watch of', () => {
  test.each([
    ['/api/v1/watch/services', 'services', '', 'watch=true'],
    [`${SLICES}/watch/endpointslices?limit=1`, 'endpointslices', '', 'limit=1&watch=true'],
    [`${SLICES}/watch/namespaces/a/endpointslices?watch=0`, 'endpointslices', 'a', 'watch=true'],
    [
      '/api/v1/watch/namespaces/a/endpoints/web?fieldSelector=',
      'endpoints',
      'a',
      'fieldSelector=metadata.name=web&watch=true',
    ],
    ['/api/v1/watch/nodes/n1', 'nodes', '', 'watch=true&fieldSelector=metadata.name=n1'],
  ])('%s', (url, resource, namespace, query) => {
    const parsed = parse(url);
    expect({ ...parsed, query: [...new URLSearchParams(parsed.query)].sort() }).toEqual({
      kind: 'collection',
      resource,
      namespace,
      query: [...new URLSearchParams(query)].sort(),
    });
  });
});

test.each([
  '/api/v1/watch',
  '/api/v1/watch/',
  '/api/v1/watch/secrets',
  '/api/v1/watch/watch/services',
  '/api/v1/watch/services/',
  '/api/watch/v1/services',
  '/api/v1/namespaces/watch/services/web/status',
  `${SLICES}beta1/watch/endpointslices`,
  `${SLICES}/watch/endpointslices/web-a`,
])('%s is not one', (url) => {
  expect(parse(url).kind).toBe('other');
});

test('objects in a namespace, or of the name, "watch" are objects', () => {
  expect(parse('/api/v1/namespaces/watch/services/watch')).toEqual({
    kind: 'object',
    resource: 'services',
    namespace: 'watch',
    query: '',
  });
});

// kubernetes-client/python#388: a client that has such a URL got an error about the path only.
test.each([
  ['//api/v1/services', '; the URL of the server must not end with a slash'],
  ['/api/v1//services', ''],
])('the path %s is refused, with a hint if it has one', (path, hint) => {
  expect(() => parse(path)).toThrow(
    expect.objectContaining({ message: `the path "${path}" is not canonical${hint}` }),
  );
});

test('a watch of one object that selects another is refused', () => {
  const url = '/api/v1/watch/nodes/n1?fieldSelector=metadata.name=n2';
  expect(() => parse(url)).toThrow('a watch of n1 has no field selector but metadata.name=n1');
});
