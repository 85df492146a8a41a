import { describe, expect, test } from '@jest/globals';
import { kubeProxyQueries } from '../../../src/client/api/kube-proxy-queries.ts';
import type { Query } from '../../../src/client/api/query.ts';
import { sliceSelectionOf } from '../../../src/client/api/slice-selection.ts';
import { ENDPOINT_SLICES, ENDPOINTS, SERVICES } from '../../../src/filter/objects/resource.ts';

function query(labelSelector: string, fieldSelector = '', resource = ENDPOINT_SLICES): Query {
  return { resource, namespace: 'shop', labelSelector, fieldSelector, encoding: 'json' };
}

const NAME = 'kubernetes.io/service-name';

describe('sliceSelectionOf()', () => {
  test('leaves the queries of every kube-proxy to the API server', () => {
    for (const each of kubeProxyQueries('edge-1')) expect(sliceSelectionOf(each)).toBeUndefined();
  });

  test.each<[string, string]>([
    ['', ''],
    [`${NAME}=web`, ''],
    [`${NAME} in (web,db),!service.kubernetes.io/headless`, 'metadata.namespace=shop'],
    ['!service.kubernetes.io/headless,!service.kubernetes.io/service-proxy-name', ''],
  ])('leaves %j, %j to the API server, because they select whole Services', (labels, fields) => {
    expect(sliceSelectionOf(query(labels, fields))).toBeUndefined();
  });

  test.each([ENDPOINTS, SERVICES])('leaves other resources alone: %j', (resource) => {
    expect(sliceSelectionOf(query('part=one', 'metadata.name=x', resource))).toBeUndefined();
  });

  test.each<[labels: string, fields: string, wholeLabels: string, wholeFields: string]>([
    ['part=one', '', '', ''],
    [`${NAME}=web,part in (one,two),!x`, '', `${NAME}=web`, ''],
    ['', 'metadata.name=web-1', '', ''],
    ['', 'metadata.namespace=shop,metadata.name!=web-1', '', 'metadata.namespace=shop'],
    ['endpointslice.kubernetes.io/managed-by=x', '', '', ''],
  ])('%j, %j needs %j, %j', (labels, fields, labelSelector, fieldSelector) => {
    expect(sliceSelectionOf(query(labels, fields))?.whole).toEqual({
      ...query(labels, fields),
      labelSelector,
      fieldSelector,
    });
  });

  test.each<[labels: string, fields: string, selected: string[]]>([
    ['part=one', '', ['a']],
    ['part!=one', '', ['b', 'c']],
    ['part', '', ['a', 'b']],
    ['!part', '', ['c']],
    ['part in (one, two),role notin (x)', '', ['b']],
    ['', 'metadata.name=a', ['a']],
    ['', 'metadata.name==a', ['a']],
    ['', 'metadata.name!=a', ['b', 'c']],
    ['part', 'metadata.name!=a', ['b']],
    ['', 'metadata.name=a,metadata.name=b', []],
  ])('%j, %j selects %j', (labels, fields, selected) => {
    const slices = [
      {
        name: 'a',
        labels: new Map([
          ['part', 'one'],
          ['role', 'x'],
        ]),
      },
      { name: 'b', labels: new Map([['part', 'two']]) },
      { name: 'c', labels: new Map() },
    ];
    const selection = sliceSelectionOf(query(labels, fields));
    expect(slices.filter((each) => selection?.selects(each)).map(({ name }) => name)).toEqual(
      selected,
    );
  });

  test.each<[labels: string, fields: string, message: RegExp]>([
    ['part gt 1', '', /part gt 1/],
    ['part=one,', '', /"" is not one of/],
    [Array(65).fill('part').join(','), '', /more than 64 requirements/],
    ['', Array(65).fill('metadata.name=x').join(','), /more than 64 requirements/],
    ['a,b)c', '', /invalid label selector/],
    ['', 'spec.x=1', /"spec.x=1" is not supported for EndpointSlices/],
    ['', 'metadata.name=a\\,b', /not supported/],
    ['', 'metadata.name', /not supported/],
  ])('%j, %j is refused', (labels, fields, message) => {
    expect(() => sliceSelectionOf(query(labels, fields))).toThrow(
      expect.objectContaining({ code: 'BadRequest', message: expect.stringMatching(message) }),
    );
  });
});
