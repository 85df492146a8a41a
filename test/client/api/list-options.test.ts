import { expect, test } from '@jest/globals';
import { parseListOptions } from '../../../src/client/api/list-options.ts';

test.each([
  ['', false],
  ['watch', true],
  ['watch=', true],
  ['watch=1', true],
  ['watch=True', true],
  ['watch=0', false],
  ['watch=False', false],
])('%j is a watch as it is for an API server: %j', (query, watch) => {
  expect(parseListOptions(new URLSearchParams(query)).watch).toBe(watch);
});

test.each(['watch=f', 'watch=no', 'watch=true,'])('%s is an error', (query) => {
  const parse = () => parseListOptions(new URLSearchParams(query));
  expect(parse).toThrow(/neither true nor false/);
});

test.each(['1', '007', '18446744073709551616', '9'.repeat(100)])(
  'the resourceVersion %s is a version, as any decimal',
  (text) => {
    const { version } = parseListOptions(new URLSearchParams({ resourceVersion: text }));
    expect(version).toBe(BigInt(text));
  },
);

// kubectl get --sort-by sends it with a request for a Table.
test('a parameter that only affects a Table is ignored', () => {
  const query = new URLSearchParams('includeObject=Object&limit=500');
  expect(parseListOptions(query)).toEqual(parseListOptions(new URLSearchParams()));
});

// A watch without duration would end immediately, and the client would open it again.
test.each([
  ['', undefined],
  ['timeoutSeconds=', undefined],
  ['timeoutSeconds=0', undefined],
  ['timeoutSeconds=570', 570],
])('%j is a watch of so many seconds: %j', (query, seconds) => {
  expect(parseListOptions(new URLSearchParams(query)).timeoutSeconds).toBe(seconds);
});

test.each(['timeoutSeconds=-1', 'timeoutSeconds=1.5', 'timeoutSeconds=x', 'limit=x', 'timeout=9'])(
  '%s is an error',
  (query) => {
    const parse = () => parseListOptions(new URLSearchParams(query));
    expect(parse).toThrow(/is not a number|is invalid/);
  },
);

test.each(['labelSelector', 'fieldSelector'])('a %s has at most 4,096 characters', (name) => {
  const parse = (length: number) =>
    parseListOptions(new URLSearchParams({ [name]: 'x'.repeat(length) }));
  expect(parse(4_096)).toMatchObject({ [name]: 'x'.repeat(4_096) });
  expect(() => parse(4_097)).toThrow(`${name} has 4097 characters, more than 4096`);
});

// ValidateListOptions of apimachinery.
test.each([
  ['sendInitialEvents=true&resourceVersionMatch=NotOlderThan', 'forbidden for list'],
  ['watch=1&resourceVersion=5&resourceVersionMatch=NotOlderThan', 'forbidden for watch'],
  ['watch=1&sendInitialEvents=true', 'requires setting resourceVersionMatch'],
  ['resourceVersionMatch=NotOlderThan', 'unless resourceVersion is provided'],
  ['resourceVersion=0&resourceVersionMatch=Exact', 'forbidden for resourceVersion "0"'],
])('%s is refused with 422', (query, problem) => {
  const parse = () => parseListOptions(new URLSearchParams(query));
  expect(parse).toThrow(
    expect.objectContaining({
      message: expect.stringContaining(problem),
      status: expect.objectContaining({ code: 422, reason: 'Invalid' }),
    }),
  );
});

test.each([
  'resourceVersion=0&resourceVersionMatch=NotOlderThan',
  'resourceVersion=5&resourceVersionMatch=Exact',
  'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
])('%s is none of these', (query) => {
  expect(() => parseListOptions(new URLSearchParams(query))).not.toThrow();
});
