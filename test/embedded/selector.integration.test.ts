import { describe, expect, test } from '@jest/globals';
import { type CollectionName, collectionNamed } from '../../embedded/collections.ts';
import type { KubeObject } from '../../embedded/kube-object.ts';
import { StatusError } from '../../embedded/kube-status.ts';
import { predicateOf } from '../../embedded/selector.ts';
import { node, service } from '../support/embedded/embedded-server.ts';

const NODES = [node('a', { site: 'a', edge: '' }), node('b', { site: 'b' }), node('none')];

const SERVICES: KubeObject[] = [
  service('web', { clusterIP: '10.96.0.1' }),
  service('headless', { clusterIP: 'None' }),
  { metadata: { name: 'far', namespace: 'other' }, spec: {} },
];

function selected(
  collection: CollectionName,
  objects: readonly KubeObject[],
  selectors: { labelSelector?: string; fieldSelector?: string },
): string[] {
  const selection = { labelSelector: '', fieldSelector: '', ...selectors };
  const predicate = predicateOf(collectionNamed(collection), selection);
  return objects.filter(predicate).map((object) => object.metadata.name);
}

describe('labelSelector', () => {
  test.each([
    ['', ['a', 'b', 'none']],
    ['site', ['a', 'b']],
    ['!site', ['none']],
    ['! site', ['none']],
    ['site=a', ['a']],
    ['site == a', ['a']],
    ['site!=a', ['b', 'none']],
    ['site in (a,c)', ['a']],
    ['site in (a, b)', ['a', 'b']],
    ['site notin (a)', ['b', 'none']],
    ['edge=', ['a']],
    ['edge', ['a']],
    ['edge!=', ['b', 'none']],
    ['site,!edge', ['b']],
    ['site in (a,b),edge', ['a']],
    ['example.com/x-y.z=1', []],
  ])('"%s" selects %j', (labelSelector, names) => {
    expect(selected('nodes', NODES, { labelSelector })).toEqual(names);
  });

  test.each(['a b', 'site in (', 'site=a=b', 'site in a', ',', '=a', 'site=a b'])(
    '"%s" does not parse: 400',
    (labelSelector) => {
      expect(() => selected('nodes', NODES, { labelSelector })).toThrow(StatusError);
    },
  );
});

describe('fieldSelector', () => {
  test.each([
    ['metadata.name=web', ['web']],
    ['metadata.name==web', ['web']],
    ['metadata.name!=web', ['headless', 'far']],
    ['metadata.namespace=other', ['far']],
    ['spec.clusterIP!=None', ['web', 'far']],
    ['spec.clusterIP=None', ['headless']],
    ['spec.clusterIP=', ['far']],
    ['spec.clusterIP!=None,metadata.namespace=default', ['web']],
  ])('"%s" selects %j', (fieldSelector, names) => {
    expect(selected('services', SERVICES, { fieldSelector })).toEqual(names);
  });

  test.each([
    ['services', 'spec.selector=x', 'field label not supported: spec.selector'],
    ['services', 'web', "invalid selector: 'web'; can't understand 'web'"],
    [
      'endpointslices',
      'spec.clusterIP=x',
      '"spec.clusterIP" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ],
  ] as const)(
    'of %s, "%s" is refused with the message of an API server',
    (name, fieldSelector, words) => {
      expect(() => selected(name, [], { fieldSelector })).toThrow(words);
    },
  );
});
