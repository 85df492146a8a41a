import { EVENTS } from './attack.ts';

/** A name, and the bytes of a request with the given header lines added. */
export type Framing = readonly [name: string, make: (lines: string) => string];

const post = (headers: string, body: string): ((lines: string) => string) => {
  return (lines) => `POST ${EVENTS} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines}${headers}\r\n${body}`;
};
const get = (version: string, headers: string, target = '/api/v1/services') => {
  return (lines: string) =>
    `GET ${target} HTTP/${version}\r\nHost: 127.0.0.1\r\n${lines}${headers}\r\n`;
};

/** Requests that two servers could read in two ways, all of which are refused (RFC 9112). */
export const FRAMINGS: readonly Framing[] = [
  [
    'a length and chunks (CL.TE)',
    post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  ],
  [
    'chunks and a length (TE.CL)',
    post('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', '0\r\n\r\n'),
  ],
  ['two lengths', post('Content-Length: 0\r\nContent-Length: 52\r\n', '')],
  ['the same length twice', post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}')],
  ['a list of lengths', post('Content-Length: 2, 2\r\n', '{}')],
  ['a length with a sign', post('Content-Length: +2\r\n', '{}')],
  ['a negative length', post('Content-Length: -2\r\n', '{}')],
  ['a hexadecimal length', post('Content-Length: 0x2\r\n', '{}')],
  ['an empty length', post('Content-Length: \r\n', '{}')],
  ['a length that overflows', post('Content-Length: 99999999999999999999\r\n', '{}')],
  ['a folded header (obs-fold)', post('X-A: b\r\n Content-Length: 2\r\n', '{}')],
  ['a folded Transfer-Encoding', post('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n')],
  ['a space before the colon', post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n')],
  ['an unknown encoding', post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n')],
  ['an encoding with a control character', post('Transfer-Encoding: \x0bchunked\r\n', '0\r\n\r\n')],
  ['the encoding identity', post('Transfer-Encoding: identity\r\n', '')],
  ['identity with a length', post('Transfer-Encoding: identity\r\nContent-Length: 2\r\n', '{}')],
  [
    'two encodings',
    post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', '0\r\n\r\n'),
  ],
  ['an encoding before chunked', post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n')],
  ['chunked twice', post('Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n')],
  ['an encoding before chunked, on a GET', get('1.1', 'Transfer-Encoding: gzip, chunked\r\n')],
  ['chunks in HTTP/1.0', get('1.0', 'Transfer-Encoding: chunked\r\n')],
  ['bare line feeds', () => 'GET /api/v1/services HTTP/1.1\nHost: 127.0.0.1\n\n'],
  ['one bare line feed', get('1.1', 'X-A: b\nX-B: c\r\n')],
  ['a bare carriage return', get('1.1', 'X-A: b\rX-B: c\r\n')],
  ['a null byte in a header', get('1.1', 'X-A: b\0c\r\n')],
  ['a header without a name', get('1.1', ': b\r\n')],
  ['a header without a colon', get('1.1', 'Content-Length 2\r\n')],
  ['an unknown version', get('1.2', '')],
  ['the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  [
    'an unknown method',
    (lines) => `GRAB /api/v1/services HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines}\r\n`,
  ],
];
