import { ACCEPT_VARIANTS } from './accept-variants.ts';
import { type Attack, header, request, SLICES } from './attack.ts';

/** Headers that request another identity, come from a browser, or are interpreted by other servers. */
const HEADERS: Attack[] = [
  'Impersonate-User: admin',
  'Impersonate-Group: system:masters',
  'Impersonate-Uid: 1',
  'Impersonate-Extra-scopes: a',
  'impersonate-user: ',
  // Node.js would drop what comes after a number of headers.
  `${'a:\r\n'.repeat(1_100)}IMPERSONATE-USER: admin`,
].map((lines) => header(lines, '403', '403'));

const OF_BROWSERS: Attack[] = [
  'Origin: http://evil.example',
  'Origin: null',
  'Sec-Fetch-Site: cross-site',
  'Sec-Fetch-Site: same-site',
].map((lines) => header(lines, '403', '200', '403'));

const TYPED_BY_USER = header('Sec-Fetch-Site: none', '200', '200', '200');

const PREFLIGHT: Attack = {
  name: 'a preflight request',
  bytes: request({
    method: 'OPTIONS',
    headers: 'Origin: http://a\r\nAccess-Control-Request-Method: POST',
  }),
  http: '403',
  admin: '403',
};

const HARMLESS: Attack[] = [
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

const ODD: Attack[] = [
  header('Expect: 200-maybe', '200', '200'),
  // Node.js would answer it itself, without any check.
  { name: 'Expect', bytes: request({ host: 'evil.example', headers: 'Expect: x' }), http: '403' },
  header(`X-A: ${'x'.repeat(20_000)}`, '431', '431'),
  header(`${'X-A: b\r\n'.repeat(6_000)}X-B: c`, '431', '431'),
  header('Host: 127.0.0.1', '400', '400', '400'),
];

const WATCH = '/api/v1/services?watch=true&timeoutSeconds=1';
const EXEC = '/api/v1/namespaces/a/pods/b/exec?command=id';
const WEBSOCKET = 'Upgrade: websocket';

/** Protocols are not switched. A client of fabric8 falls back to http after 200. */
const UPGRADES: Attack[] = [
  [WATCH, WEBSOCKET, '200', '200'],
  [WATCH, `${WEBSOCKET}\r\nOrigin: http://evil.example`, '403', '200'],
  ['/api/v1/pods?watch=true', WEBSOCKET, '403', '200'],
  ['/api/v1/services', WEBSOCKET, '403', '403'],
  ['/api/v1/services?watch=false', WEBSOCKET, '403', '403'],
  [EXEC, WEBSOCKET, '403', '403'],
  [EXEC, 'Upgrade: SPDY/3.1', '403', '403'],
  ['/api/v1/watch/services', WEBSOCKET, '200', '200'],
  ['/apis/discovery.k8s.io/v1beta1/watch/endpointslices', WEBSOCKET, '403', '403'],
  // Java's own client offers it with each request.
  [WATCH, 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk', '200', '200', 'close, Upgrade'],
].map(([path, headers = '', http = '', https = '', connection = 'Upgrade']) => {
  return { name: `${headers} ${path}`, bytes: request({ path, connection, headers }), http, https };
});

const POST_UPGRADE = ['Content-Length: 9', 'Transfer-Encoding: chunked'].map((lines) => ({
  name: `an upgrade with a body (${lines})`,
  bytes: request({
    method: 'POST',
    path: EXEC,
    connection: 'Upgrade',
    headers: `${WEBSOCKET}\r\n${lines}`,
  }),
  http: '403',
  https: '403',
}));

/** Over https the one credential counts; a second, or none, is refused. */
const CREDENTIALS: Attack[] = [
  ['none', ''],
  ['a password', 'Authorization: Basic YTpi\r\n'],
  ['an empty token', 'Authorization: Bearer \r\n'],
  ['two tokens', 'Authorization: Bearer a, Bearer b\r\n'],
  ['two spaces', 'Authorization: Bearer  a\r\n'],
  ['a front proxy', 'X-Remote-User: admin\r\nX-Remote-Group: system:masters\r\n'],
  ['a cookie', 'Cookie: token=a\r\n'],
].flatMap(([name = '', lines = '']) =>
  ['/api/v1/services', '/api/v1/secrets', '/version', EXEC].map((value) => ({
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
const hosts = (names: readonly string[], status: string): Attack[] =>
  names.map((host) => {
    return { name: `Host: ${host}`, bytes: request({ host }), http: status, admin: status };
  });
const HOSTS: Attack[] = [
  ...hosts(HOSTS_GOOD, '200'),
  ...hosts(HOSTS_BAD, '400|403'),
  {
    name: 'no Host',
    bytes: (lines) => `GET /api/v1/services HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`,
    http: '400',
    https: '400',
    admin: '400',
  },
  {
    name: 'no Host in HTTP/1.0',
    bytes: (lines) => `GET /api/v1/services HTTP/1.0\r\n${lines}\r\n`,
    http: '403',
    admin: '403',
  },
];

const ACCEPTS: Attack[] = [
  ...[
    'application/json',
    '*/*',
    'application/vnd.kubernetes.protobuf',
    '',
    'application/json;q=0',
    'application/json;drop=metadata.managedFields',
  ].map((value) => header(`Accept: ${value}`, '200', '200')),
  header('Accept: application/json;q=0.1, text/html', '200', '200'),
  header('Accept: application/json;as=Table;g=meta.k8s.io;v=v1, application/json', '200', '200'),
  ...[
    'text/html',
    'application/yaml',
    'application/cbor',
    'application/*',
    'constructor',
    '__proto__',
  ].map((value) => header(`Accept: ${value}`, '406', '406')),
  header('Accept: application/json;as=Table;g=meta.k8s.io;v=v1', '406', '406'),
];

const ONE = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

/** They seem to ask for metadata, which is forwarded, and would get whole objects. */
const EVADING: Attack[] = [
  ['', 'application/json;as=PartialObjectMetadataX,application/json', '200'],
  ['', 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v2,*/*', '200'],
  ['?includeObject=Object', 'application/json;as=Table;g=meta.k8s.io;v=v1,*/*', '200'],
  // The kind does not match the verb: an API server would send whole objects on the watch.
  ['?watch=1', `${ONE.replace('Metadata;', 'MetadataList;')},application/json`, '406'],
  ['', `${ONE},application/json`, '406'],
  ['?watch=1&watch=0', ONE, '400'],
  ['?Watch=1', ONE, '400'],
].map(([query, accept, https = '']) => {
  const bytes = request({ path: `${SLICES}${query}`, headers: `Accept: ${accept}` });
  return { name: `Accept: ${accept} of ${query}`, bytes, https };
});

/** Reads of slices, one object and a watch with each of {@link ACCEPT_VARIANTS}. Their answers depend on the server. */
export const ACCEPT_ATTACKS: readonly Attack[] = ACCEPT_VARIANTS.flatMap((accept, index) =>
  [
    SLICES,
    `${SLICES}?includeObject=Object`,
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-a',
    // It lasts a second, so it is tried with every third header only.
    ...(index < 6 || index % 3 === 0 ? [`${SLICES}?watch=true&timeoutSeconds=1`] : []),
  ].map((path) => {
    const headers = accept.map((value) => `Accept: ${value}`).join('\r\n');
    return { name: `${path} ${headers}`, bytes: request({ path, headers }), https: '200|406' };
  }),
);

/** Attacks by headers: identity, Host, Accept and odd ones. */
export const HEADER_ATTACKS: readonly Attack[] = [
  ...HEADERS,
  ...OF_BROWSERS,
  TYPED_BY_USER,
  PREFLIGHT,
  ...HARMLESS,
  ...ODD,
  ...UPGRADES,
  ...POST_UPGRADE,
  ...CREDENTIALS,
  ...HOSTS,
  ...ACCEPTS,
  ...EVADING,
];
