import { describe, expect, test } from '@jest/globals';
import { currentKubeProxyQueries } from '../../../src/client/api/kube-proxy-queries.ts';
import { parseQueries, serializeQueries } from '../../../src/client/api/query-json.ts';

describe('queries as JSON', () => {
  const [, slices, , cidrs] = JSON.parse(serializeQueries(currentKubeProxyQueries('edge-1')));

  test('are read as they were written', () => {
    const queries = currentKubeProxyQueries('edge-1');
    expect(queries).toHaveLength(4);
    expect(parseQueries(serializeQueries(queries), 'edge-1')).toEqual(queries);
  });

  // Regression: the wrapper adopted a version of 31 digits, and issued versions that it refused itself.
  test('are read without a version that another process adds', () => {
    const versioned = JSON.stringify([{ ...slices, version: '9'.repeat(31) }]);
    expect(parseQueries(versioned, 'edge-1')).toEqual(
      currentKubeProxyQueries('edge-1').slice(1, 2),
    );
  });

  test.each([
    ['not JSON', '<html>'],
    ['not a list', '{}'],
    ['entries that are not queries', '[null, 1, {}]'],
    [
      'a resource without a view',
      '[{"group":"","plural":"secrets","namespace":"","labelSelector":"","fieldSelector":"","encoding":"json"}]',
    ],
    ['another node', serializeQueries(currentKubeProxyQueries('edge-2').slice(0, 1))],
    [
      'an unknown encoding',
      '[{"group":"","plural":"services","namespace":"","labelSelector":"","fieldSelector":"","encoding":"cbor"}]',
    ],
    ...[
      ['namespace', '../kube-system'],
      ['namespace', 'a/b'],
      ['namespace', 'x'.repeat(64)],
      ['namespace', 7],
      ['labelSelector', 'x'.repeat(1001)],
      ['labelSelector', 'a=b\r\nx'],
      ['fieldSelector', 'metadata.name=\u202e'],
      ['fieldSelector', null],
      // An earlier version of the wrapper accepted these two.
      ['labelSelector', 'part gt 1'],
      ['fieldSelector', 'addressType=IPv4'],
    ].map(([field, value]): [string, string] => [
      `a ${field} that no client sends`,
      JSON.stringify([{ ...slices, [String(field)]: value }]),
    ]),
    [
      'a namespace of a cluster-wide resource',
      JSON.stringify([{ ...cidrs, namespace: 'default' }]),
    ],
  ])('%s is left out', (_name, text) => {
    expect(parseQueries(text, 'edge-1')).toEqual([]);
  });

  test('are read up to a limit', () => {
    const many = Array.from({ length: 1000 }, () => currentKubeProxyQueries('n')).flat();
    expect(parseQueries(serializeQueries(many), 'n')).toEqual(many.slice(0, 32));
  });
});
