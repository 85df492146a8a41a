import { expect, test } from '@jest/globals';
import { parseReadOptions } from '../../src/proxy/read-options.ts';

test.each([
  ['', false],
  ['watch', true],
  ['watch=', true],
  ['watch=1', true],
  ['watch=True', true],
  ['watch=0', false],
  ['watch=False', false],
])('%j is a watch as it is for an API server: %j', (query, watch) => {
  expect(parseReadOptions(new URLSearchParams(query)).watch).toBe(watch);
});

test.each(['watch=f', 'watch=no', 'watch=true,'])('%s is a mistake', (query) => {
  const parse = () => parseReadOptions(new URLSearchParams(query));
  expect(parse).toThrow(/neither true nor false/);
});

// kubectl get --sort-by sends it with a request for a Table.
test('what only a Table would heed is ignored', () => {
  const query = new URLSearchParams('includeObject=Object&limit=500');
  expect(parseReadOptions(query)).toEqual(parseReadOptions(new URLSearchParams()));
});
