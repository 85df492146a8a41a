import { header, type ProbeRow, request } from './probe-request.ts';

/** Headers that request another identity, come from a browser, or are interpreted by other servers. */
const HEADERS: ProbeRow[] = [
  'Impersonate-User: admin',
  'Impersonate-Group: system:masters',
  'Impersonate-Uid: 1',
  'Impersonate-Extra-scopes: a',
  'impersonate-user: ',
].map((lines) => header(lines, '403', '403'));

const OF_BROWSERS: ProbeRow[] = [
  'Origin: http://evil.example',
  'Origin: null',
  'Sec-Fetch-Site: cross-site',
  'Sec-Fetch-Site: same-site',
].map((lines) => header(lines, '403', '200|403'));

const HARMLESS: ProbeRow[] = [
  'X-Remote-User: admin',
  'X-Remote-Group: system:masters',
  'X-Forwarded-For: 127.0.0.1',
  'Cookie: a=b',
  'X-HTTP-Method-Override: DELETE',
  'X-Original-URL: /api/v1/secrets',
  'Via: 1.1 x',
  'X-Rewrite-URL: /api/v1/secrets',
  'Range: bytes=0-1',
  'If-None-Match: *',
  'TE: trailers',
  'Accept-Encoding: br',
  'Proxy-Authorization: Basic eA==',
  'Keep-Alive: timeout=9999',
  'X-A: \xff',
].map((lines) => header(lines, '200', '200'));

const ODD: ProbeRow[] = [
  header('Upgrade: websocket\r\nConnection: Upgrade', '2xx|4xx|503|end', '2xx|4xx|503|end'),
  header('Upgrade: SPDY/3.1\r\nConnection: Upgrade', '2xx|4xx|503|end', '2xx|4xx|503|end'),
  header(
    'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk',
    '2xx|4xx|503|end',
    '2xx|4xx|503|end',
  ),
  header('Expect: 200-maybe', '200', '200'),
  header(`X-A: ${'x'.repeat(20_000)}`, '431', '431'),
  header(`${'X-A: b\r\n'.repeat(6_000)}X-B: c`, '431', '431'),
  header('Host: 127.0.0.1', '400', '400'),
];

/** Over https the one credential counts; a second, or none, is refused. */
const CREDENTIALS: ProbeRow[] = [
  ['none', ''],
  ['a password', 'Authorization: Basic YTpi\r\n'],
  ['an empty token', 'Authorization: Bearer \r\n'],
  ['two tokens', 'Authorization: Bearer a, Bearer b\r\n'],
  ['two spaces', 'Authorization: Bearer  a\r\n'],
  ['a front proxy', 'X-Remote-User: admin\r\nX-Remote-Group: system:masters\r\n'],
  ['a cookie', 'Cookie: token=a\r\n'],
].flatMap(([name = '', lines = '']) =>
  ['/api/v1/services', '/api/v1/secrets'].map((value) => ({
    name: `credentials: ${name}, ${value}`,
    bytes: () => request({ path: value })(lines),
    https: '401',
  })),
);

const HOSTS_GOOD = [
  '127.0.0.1',
  '127.0.0.1:10360',
  'localhost',
  'LOCALHOST:1',
  '[::1]',
  '[::1]:10360',
  '127.0.0.2',
];
const HOSTS_BAD = [
  '0.0.0.0',
  '0.0.0.0:10360',
  '[::]',
  '10.0.0.1',
  '[2001:db8::1]',
  'evil.example',
  'evil.example:10360',
  'localhost.evil.example',
  'localhost.',
  '127.0.0.1.evil.example',
  '127.0.0.1.nip.io',
  '0x7f.1',
  '2130706433',
  '127.1',
  '0177.0.0.1',
  'user@127.0.0.1',
  '127.0.0.1@evil.example',
  '127.0.0.1:port',
  '127.0.0.1:',
  '127.0.0.1:123456',
  '[::1',
  '::1',
  '[::1]evil',
  '[evil.example]',
  '127.0.0.1/x',
  '127.0.0.1, evil.example',
  '127.0.0.1 evil.example',
  'kubernetes.default.svc',
  'xn--lclhost-9ya',
  '',
  '.',
  '%31',
  '127.0.0.1#x',
  '127.0.0.1?x',
  '*',
  'local\thost',
  'l\u00f6calhost',
  '127.0.0.1\\evil',
  '-',
];
const HOSTS: ProbeRow[] = [
  ...HOSTS_GOOD.map((host) => ({ name: `Host: ${host}`, bytes: request({ host }), http: '200' })),
  ...HOSTS_BAD.map((host) => ({
    name: `Host: ${host}`,
    bytes: request({ host }),
    http: '400|403',
  })),
  {
    name: 'no Host',
    bytes: (lines) => `GET /api/v1/services HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`,
    http: '400|403',
    https: '400',
  },
];

const ACCEPTS: ProbeRow[] = [
  ...['application/json', '*/*', 'application/*', 'application/vnd.kubernetes.protobuf', ''].map(
    (value) => header(`Accept: ${value}`, '200', '200'),
  ),
  header('Accept: application/json;q=0.1, text/html', '200', '200'),
  header('Accept: application/json;as=Table;g=meta.k8s.io;v=v1, application/json', '200', '200'),
  ...[
    'text/html',
    'application/yaml',
    'application/cbor',
    'application/json;q=0',
    'constructor',
    '__proto__',
  ].map((value) => header(`Accept: ${value}`, '406', '406')),
  header('Accept: application/json;as=Table;g=meta.k8s.io;v=v1', '406', '406'),
];

/** Probes of headers: identity, Host, Accept and odd ones. */
export const HEADER_ROWS: readonly ProbeRow[] = [
  ...HEADERS,
  ...OF_BROWSERS,
  ...HARMLESS,
  ...ODD,
  ...CREDENTIALS,
  ...HOSTS,
  ...ACCEPTS,
];
