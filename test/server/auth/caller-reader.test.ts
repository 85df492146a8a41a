import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { CallerReader } from '../../../src/server/auth/caller-reader.ts';
import { jsonWebToken } from '../../support/http/token-spellings.ts';

const reader = new CallerReader();

const read = (authorization: string) =>
  reader.read({ headers: { authorization } } as unknown as IncomingMessage);

test.each([
  ['two tokens', 'a', 'b'],
  ['tokens that differ only in upper and lower case', 'a', 'A'],
  ['two JSON web tokens', jsonWebToken('a'), jsonWebToken('b')],
  ['tokens that only look like base64', 'aaa.bbb.ccB', 'aaa.bbb.ccA'],
])('%s are two callers', (_, one, other) => {
  expect(read(`Bearer ${one}`).id).not.toBe(read(`Bearer ${other}`).id);
});

test('a token may have every visible character except a comma', () => {
  const visible = Array.from({ length: 0x7e - 0x20 }, (_, n) => String.fromCharCode(0x21 + n));
  const token = visible.filter((each) => each !== ',').join('');
  expect(read(`Bearer ${token}`)).toMatchObject({ authorization: `Bearer ${token}` });
});

/** An API server removes some of them at the end of the header (Go's strings.TrimSpace), which is UTF-8 to it. */
test.each([
  ['a space of Unicode', 'a\u2000'],
  ['the next line of Unicode', 'a\u0085'],
  ['a letter that is not ASCII', 'ä'],
  ['a control character', 'a\x7f'],
  ['a tab', 'a\t'],
  ['a comma', 'a,'],
])('%s is not a part of a token', (_, token) => {
  const header = Buffer.from(`Bearer ${token}`).toString('latin1');
  expect(() => read(header)).toThrow('is not a bearer token');
});
