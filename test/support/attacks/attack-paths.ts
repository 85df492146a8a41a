import { type Attack, EVENTS, path, request, SLICES } from './attack.ts';

const WEB = '/api/v1/namespaces/default/services/web';

const VIEWS = [
  '/api/v1/services',
  '/api/v1/endpoints',
  SLICES,
  '/api/v1/nodes/edge-1',
  WEB,
  '/api/v1/namespaces/default/services',
  '/api/v1/namespaces/default/endpoints',
  '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-a',
  '/api/v1/nodes?fieldSelector=metadata.name%3Dedge-1',
  '/api/v1/services?limit=1',
  `${SLICES}?labelSelector=a%3Db`,
  `${SLICES}?watch=true&timeoutSeconds=1`,
  '/api/v1/%73ervices',
  '/api/v1/services?pretty=true',
  '/apis/networking.k8s.io/v1/servicecidrs',
  '/api/v1/services?',
  // The deprecated form of a watch, which clients still use.
  '/apis/discovery.k8s.io/v1/watch/endpointslices?timeoutSeconds=1',
  '/apis/discovery.k8s.io/v1/watch/namespaces/default/endpointslices/web-a?timeoutSeconds=1',
  '/api/v1/watch/namespaces/default/endpoints?watch=0&timeoutSeconds=1',
  '/api/v1/watch/nodes/edge-1?timeoutSeconds=1',
].map((value) => path(value, '200', '200'));

/** Discovery: over http the wrapper answers itself, and the API server is not reached. */
const DISCOVERY = [
  ...['/api', '/api?timeout=32s', '/api/v1', '/apis', '/apis/discovery.k8s.io/v1', '/version'],
  ...['/api/', '/apis/', '/api/v1/', '/version/'],
].map((value) => path(value, '200', '2xx|4xx +'));

/** Not for kube-proxy: 403 over http; over https forwarded, for the API server to decide. */
const FOREIGN = [
  '/',
  '/healthz',
  '/livez',
  '/readyz',
  '/metrics',
  '/openapi/v2',
  '/openapi/v3',
  '/apis/apps/v1',
  '/logs/',
  '/debug/pprof/',
  '/swagger.json',
  '/api/v1/watch/secrets',
  '/api/v1/watch/watch/services',
  '/api/v1/secrets',
  '/api/v1/namespaces/kube-system/secrets',
  '/api/v1/configmaps',
  '/api/v1/pods',
  '/api/v1/namespaces/default/pods/a/log',
  '/api/v1/namespaces/default/pods/a/exec',
  '/api/v1/nodes/edge-1/proxy/',
  '/api/v1/nodes/edge-1/status',
  '/api/v1/serviceaccounts',
  '/api/v1/namespaces',
  '/api/v1/namespaces/default',
  '/api/v1/persistentvolumes',
  `${WEB}/proxy`,
  `${WEB}/proxy/x`,
  `${WEB}/status`,
  '/api/v1/componentstatuses',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  '/apis/certificates.k8s.io/v1/certificatesigningrequests',
  '/apis/apps/v1/deployments',
  '/apis/coordination.k8s.io/v1/leases',
  '/apis/events.k8s.io/v1/events',
  '/api/v1/events',
  '/API/v1/services',
  '/api/v1/Services',
  '/api/v1/services.',
  '/proxy',
  '/index.html',
  '/.well-known/openid-configuration',
].map((value) => path(value, '403|404', '2xx|4xx|5xx +'));

/** Nodes that are not this one: no view has them. */
const OTHER_NODES = [
  '/api/v1/nodes',
  '/api/v1/nodes/edge-2',
  '/api/v1/nodes?labelSelector=site%3Da',
  '/api/v1/nodes?fieldSelector=metadata.name%21%3Dedge-1',
  '/api/v1/nodes?watch=1&timeoutSeconds=1',
].map((value) => path(value, '403', '2xx|4xx +'));

/** Other ways to read what is served as a view, and paths that two servers read in two ways. */
const ROUND_ABOUT = [
  '/api/v1/watch/services/',
  '/apis/discovery.k8s.io/v1beta1/watch/endpointslices',
  '/api/v1/services/',
  '/api/v1/%65ndpoints/',
  '/api/v1/namespaces/default/endpoints/web/',
  '/apis/discovery.k8s.io/v1/watch/endpointslices/web-a',
  '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/',
  `${SLICES}#x`,
  `${SLICES}?#x`,
  `${SLICES}/?watch=1`,
  `/${SLICES}`,
  '/apis/discovery.k8s.io/v1beta1/endpointslices',
  '/apis/discovery.k8s.io/v1/endpointslices/',
  '/api/v1/namespaces/default/services/',
  '//api/v1/services',
  '/api//v1/services',
  '/api/v1//services',
  '/api/v1/./services',
  '/api/v1/x/../services',
  '/api/v1/%2e%2e/v1/secrets',
  '/api/v1/services%2fweb',
  '/api/v1/%2E/services',
  '/api/v1/namespaces/default%2Fservices/web',
  '/%2e/api/v1/secrets',
  '/api/v1/%',
  '/api/v1/%zz/services',
  '/api/v1/%ff/services',
  '/api/v1/namespaces//services',
  '/api/v1/services/..%2f..%2fsecrets',
  'http://10.0.0.1/api/v1/services',
  'https://127.0.0.1/api/v1/secrets',
  'ftp://x/',
  '*',
  'api/v1/services',
  '/api/v1/services#fragment',
].map((value) => path(value, '400|403|404', '400|403|404'));

/** Odd paths that mean nothing to any server: they are refused here or there. */
const MEANINGLESS = [
  path('/api/v1/services\\..\\secrets', '400|403|404', '4xx +'),
  path('/api/V1/services', '403|404', '400'),
  path(`${SLICES}/web-1/status`, '403|404', '4xx +'),
  ...['%23', ';a=b', '\\', '%20', '%00', '%3Fwatch=1'].map((end) =>
    path(`${SLICES}${end}`, '400|403|404', '4xx +'),
  ),
];

/** Queries that are not understood, or would change the answer. */
const QUERIES = [
  'unknown=1',
  'watch=perhaps',
  'watch=1&watch=0',
  'resourceVersion=abc',
  'resourceVersion=-1',
  'resourceVersionMatch=Wrong&resourceVersion=1',
  'timeoutSeconds=1e9',
  'timeoutSeconds=-1',
  'sendInitialEvents=true',
  'watch=1&sendInitialEvents=true',
  'fieldSelector=a%3Db&fieldSelector=c',
  'resourceVersion=99999999999999999999999999999999',
  'continue=abc',
  '%=1',
  'dryRun=All',
  'export=1',
  'labelSelector=a%3Db&labelSelector=c%3Dd',
  'watch=true%00',
  'fieldManager=x',
  'fieldValidation=Strict',
].map((value) => path(`/api/v1/services?${value}`, '4xx|5xx', '4xx|5xx'));

/** Methods that a view does not have. */
const METHODS: Attack[] = [
  ...['POST', 'PUT', 'PATCH', 'DELETE'].flatMap((method) =>
    // Nothing there can be written.
    ['services', 'services/web', 'endpoints/web'].map((name) => {
      const value = `/api/v1/namespaces/none/${name}`;
      const bytes = request({ method, path: value, body: '{}' });
      return { name: `${method} ${value}`, bytes, http: '403|405', https: '2xx|4xx|5xx +' };
    }),
  ),
  ...['TRACE', 'PROPFIND', 'LINK', 'PURGE', 'M-SEARCH', 'QUERY', 'OPTIONS', 'HEAD'].map(
    (method) => ({
      name: `${method} /api/v1/secrets`,
      bytes: request({ method, path: '/api/v1/secrets' }),
      http: '400|403|405|501',
    }),
  ),
  ...['get', 'GETT', 'G E T', '', 'CONNECT'].map((method) => ({
    name: `method ${JSON.stringify(method)}`,
    bytes: request({ method }),
    http: '400|405|501|end',
    https: '400|405|501|end',
  })),
  {
    name: 'CONNECT 10.0.0.1:443',
    bytes: request({ method: 'CONNECT', path: '10.0.0.1:443' }),
    http: '400|403|405|end',
    https: '400|403|405|end',
  },
];

const EVENT = {
  kind: 'Event',
  apiVersion: 'events.k8s.io/v1',
  metadata: { name: 'edge-1.18a2b3c4d5e6f708', namespace: 'default' },
  eventTime: '2026-11-22T10:00:00.123456Z',
  reportingController: 'kube-proxy',
  reportingInstance: 'kube-proxy-edge-1',
  action: 'StartKubeProxy',
  reason: 'Starting',
  regarding: { kind: 'Node', name: 'edge-1' },
  type: 'Normal',
};

/** kube-proxy writes nothing over http, and only its own Events over https. */
const WRITES: Attack[] = [
  {
    name: "kube-proxy's own Event",
    bytes: request({
      method: 'POST',
      path: EVENTS,
      headers: 'Content-Type: application/json',
      body: JSON.stringify(EVENT),
    }),
    http: '403',
    https: '201 +',
  },
  ...[
    ['of unknown size', 'Transfer-Encoding: chunked', '1\r\nx\r\n0\r\n\r\n'],
    ['larger than any buffer', 'Content-Length: 100000000', ''],
    ['whose body never arrives', 'Content-Length: 300', '{'],
  ].map(([name, headers = '', body = '']) => ({
    name: `an Event ${name}`,
    bytes: (lines: string) => request({ method: 'POST', path: EVENTS, headers })(lines) + body,
    http: '403',
  })),
  ...['DELETE', 'GET', 'PUT', 'PATCH'].map((method) => ({
    name: `${method} ${EVENTS}`,
    bytes: request({ method, path: EVENTS, body: '{}' }),
    http: '400|403|405',
  })),
];

/** Attacks by paths, queries and methods. */
export const PATH_ATTACKS: readonly Attack[] = [
  ...VIEWS,
  ...DISCOVERY,
  ...FOREIGN,
  ...OTHER_NODES,
  ...ROUND_ABOUT,
  ...MEANINGLESS,
  ...QUERIES,
  ...METHODS,
  ...WRITES,
];
