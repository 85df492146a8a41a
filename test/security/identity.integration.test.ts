import { once } from 'node:events';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createMetrics } from '../../src/admin/metrics/metrics.ts';
import { type RawConnection, raw } from '../support/http/http-client.ts';
import { type HttpsWrapper, useHttps } from '../support/wrapper/https-wrapper.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';

let wrapper: HttpsWrapper;

beforeAll(async () => {
  wrapper = await useHttps({ allowedMs: 1, deniedMs: 1 });
});

beforeEach(() => {
  wrapper.api.decide = () => true;
  wrapper.api.reviews.length = 0;
  wrapper.api.passed.length = 0;
});

const statusOf = ({ body }: { body: string }) => JSON.parse(body) as Record<string, unknown>;

describe('a caller without credentials', () => {
  test.each([
    ['nothing at all', {}],
    ['an empty bearer token, which is anonymous to an API server', { authorization: 'Bearer ' }],
    ['a password', { authorization: 'Basic YTpi' }],
    ['two spaces before the token, which is anonymous too', { authorization: 'Bearer  a' }],
    ['two tokens in one header', { authorization: 'Bearer a, Bearer b' }],
    ['a front proxy header', { 'x-remote-user': 'system:admin' }],
  ])(
    '%s gets 401 for every path, and nothing is forwarded to the API server',
    async (_name, headers) => {
      for (const path of [SLICES, '/api/v1/secrets', '/version']) {
        const answer = await wrapper.ask(path, { headers });
        expect(statusOf(answer)).toMatchObject({
          kind: 'Status',
          code: 401,
          reason: 'Unauthorized',
        });
      }
      expect([wrapper.api.reviews, wrapper.api.passed]).toEqual([[], []]);
    },
  );
});

describe('a caller with a token', () => {
  test('reads a filtered view if the API server allows it', async () => {
    const answer = await wrapper.ask(SLICES, { token: 'kube-proxy' });
    expect(answer.code).toBe(200);
    const { items } = JSON.parse(answer.body) as { items: { endpoints: unknown[] }[] };
    expect(items[0]?.endpoints).toHaveLength(1);
    expect(wrapper.api.reviews).toEqual([
      {
        kind: 'SelfSubjectAccessReview',
        authorization: 'Bearer kube-proxy',
        spec: {
          resourceAttributes: {
            verb: 'list',
            group: 'discovery.k8s.io',
            version: 'v1',
            resource: 'endpointslices',
            namespace: '',
            name: '',
          },
        },
      },
    ]);
  });

  // A metadata client can only parse metadata, which no view has.
  test.each([
    [SLICES, 'PartialObjectMetadataList'],
    [`${SLICES}?watch=1&timeoutSeconds=1`, 'PartialObjectMetadata'],
    ['/api/v1/namespaces/default/services/web', 'PartialObjectMetadata'],
  ])('a read of metadata only at %s is forwarded to the API server', async (path, kind) => {
    const accept = `application/json;as=${kind};g=meta.k8s.io;v=v1`;
    // The header of client-go's metadata client: its last clause would be answered with whole objects.
    await wrapper.ask(path, { token: 'caller', headers: { accept: `${accept},application/json` } });
    expect(wrapper.api.passed).toMatchObject([
      { url: path, headers: { accept, authorization: 'Bearer caller' } },
    ]);
  });

  const ONE = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
  test.each([
    ['', 'application/json;as=PartialObjectMetadataX,application/json', 200],
    ['', 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v2,*/*', 200],
    ['?includeObject=Object', 'application/json;as=Table;g=meta.k8s.io;v=v1,*/*', 200],
    // The kind does not match the verb: an API server would send whole objects on the watch.
    ['?watch=1', `${ONE.replace('Metadata;', 'MetadataList;')},application/json`, 406],
    ['', `${ONE},application/json`, 406],
    ['?watch=1&watch=0', ONE, 400],
    ['?Watch=1', ONE, 400],
  ])('the query %p with Accept %p does not evade the filter', async (query, accept, code) => {
    const answer = await wrapper.ask(SLICES + query, { token: 'caller', headers: { accept } });
    expect(answer.code).toBe(code);
    expect(answer.body).not.toContain('10.0.0.2');
    expect(wrapper.api.passed).toEqual([]);
  });

  test.each([
    ['/api/v1/namespaces/a/services', { verb: 'list', namespace: 'a', name: '' }],
    ['/api/v1/services?watch=1&timeoutSeconds=1', { verb: 'watch', namespace: '' }],
    ['/api/v1/namespaces/a/endpoints/x', { verb: 'get', namespace: 'a', name: 'x' }],
    ['/api/v1/nodes/edge-1', { verb: 'get', name: 'edge-1' }],
    [
      '/api/v1/nodes?fieldSelector=metadata.name%3Dedge-1',
      { verb: 'list', name: 'edge-1', fieldSelector: { rawSelector: 'metadata.name=edge-1' } },
    ],
    [
      '/api/v1/services?labelSelector=a%3Db',
      { verb: 'list', labelSelector: { rawSelector: 'a=b' } },
    ],
  ])('%s is reviewed as %j', async (path, attributes) => {
    await wrapper.ask(path, { token: 't' });
    expect(wrapper.api.reviews[0]?.spec.resourceAttributes).toMatchObject(attributes);
  });

  test('cannot read a view that it may not read at the API server', async () => {
    wrapper.api.decide = () => false;
    const status = statusOf(await wrapper.ask(SLICES, { token: 'pod' }));
    expect(status).toMatchObject({ code: 403, reason: 'Forbidden' });
    expect(status.message).toMatch(/may not list endpointslices\.discovery\.k8s\.io: no rule/);
  });

  test('whose token is not accepted gets 401', async () => {
    wrapper.api.decide = () => 401;
    expect(statusOf(await wrapper.ask(SLICES, { token: 'made-up' }))).toMatchObject({ code: 401 });
  });

  test.each([500, 429, 200])('a response %d that is not a review allows nothing', async (code) => {
    wrapper.api.decide = () => code;
    expect((await wrapper.ask(SLICES, { token: `new-${code}` })).code).toBe(503);
  });

  test.each([
    ['GET', '/api/v1/secrets'],
    ['GET', '/api/v1/nodes'],
    ['GET', '/api/v1/nodes/edge-2'],
    ['GET', '/version'],
    ['POST', '/api/v1/namespaces/default/services'],
    ['DELETE', '/api/v1/namespaces/default/services/none'],
    ['GET', '/api/v1/namespaces/default/services/web/proxy/x'],
  ])('%s %s is decided by the API server', async (method, path) => {
    await wrapper.ask(path, { token: 'caller', method });
    expect(wrapper.api.passed).toMatchObject([
      { method, url: path, headers: { authorization: 'Bearer caller' } },
    ]);
  });

  test.each([
    '/apis/discovery.k8s.io/v1beta1/endpointslices',
    '/apis/discovery.k8s.io/v1/endpointslices/',
    '/apis/discovery.k8s.io/v1/watch/endpointslices',
    '/apis/discovery.k8s.io/v1/watch/namespaces/default/endpointslices/web-a',
    '/api/v1/watch/namespaces/default/endpoints',
    '/api/v1/%65ndpoints/',
    '/api/v1/namespaces/default/endpoints/web/',
    '/api/v1//endpoints',
    '/api/v1/../v1/endpoints',
  ])('%s does not evade the filter', async (path) => {
    expect((await wrapper.ask(path, { token: 'caller' })).code).toBe(400);
    expect(wrapper.api.passed).toEqual([]);
  });

  test('may impersonate where the API server decides, but cannot read a view with impersonation', async () => {
    const headers = { 'impersonate-user': 'admin', 'Impersonate-Extra-Scopes': 'x' };
    expect((await wrapper.ask('/api/v1/secrets', { token: 'caller', headers })).code).toBe(404);
    expect(wrapper.api.passed[0]?.headers).toMatchObject({ 'impersonate-user': 'admin' });
    for (const name of ['Impersonate-User', 'IMPERSONATE-GROUP', 'impersonate-uid']) {
      const answer = await wrapper.ask(SLICES, { token: 'caller', headers: { [name]: 'x' } });
      expect(statusOf(answer)).toMatchObject({ code: 403 });
    }
    expect(wrapper.api.reviews).toEqual([]);
  });
});

describe('the identity headers of a caller', () => {
  test('are forwarded with every group that was sent', async () => {
    const groups = { 'impersonate-group': ['a', 'b'] };
    const headers = { 'impersonate-user': 'admin', ...groups };
    await wrapper.ask('/version', { token: 'caller', headers });
    expect(wrapper.api.passed[0]?.lines).toMatchObject(groups);
  });
});

test('reviews, certificates and refused connections are counted', async () => {
  await wrapper.ask(SLICES, { token: 'counted' });
  const metrics = await createMetrics(wrapper.proxy).metrics();
  expect(metrics).toMatch(/kube_proxy_wrapper_access_reviews_total [1-9]/);
  expect(metrics).toMatch(/kube_proxy_wrapper_access_reviews_stale_total 0/);
  expect(metrics).toMatch(/kube_proxy_wrapper_https_certificate_expiry_timestamp_seconds [1-9]/);
  expect(metrics).toMatch(/client_connections_refused_total\{listener="https.listen"\} 0/);
});

test.each([500, 429, 200])(
  'a response %d that is not a review keeps the last decision',
  async (code) => {
    const token = `known-${code}`;
    expect((await wrapper.ask(SLICES, { token })).code).toBe(200);
    wrapper.api.decide = () => code;
    expect((await wrapper.ask(SLICES, { token })).code).toBe(200);
    expect(wrapper.api.reviews).toHaveLength(2);
    expect((await wrapper.ask('/api/v1/services', { token })).code).toBe(503);
    wrapper.api.decide = () => 401;
    expect((await wrapper.ask(SLICES, { token })).code).toBe(401);
  },
);

describe('switching protocols', () => {
  const exec = '/api/v1/namespaces/a/pods/b/exec?command=id';
  const upgrade = (path: string, more = '') =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n${more}\r\n`;

  const token = 'Authorization: Bearer caller\r\n';
  test.each([
    ['without credentials', exec, '', 401],
    ['to watch a view, after which the client falls back to http', `${SLICES}?watch=1`, token, 503],
    ['for exec, attach and port-forward', exec, token, 403],
    ['to watch a view the old way', '/api/v1/watch/services', token, 403],
    ['with a body', exec, `${token}Content-Length: 9\r\n`, 403],
    ['with a chunked body', exec, `${token}Transfer-Encoding: chunked\r\n`, 403],
  ])('%s is refused', async (_name, path, more, code) => {
    const socket = openTls();
    const answer = await request(socket, path, upgrade(path, more));
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${code} .*connection: close`, 'is'));
    expect(wrapper.api.passed).toEqual([]);
  });
});

const openTls = () => raw(wrapper.proxy.httpsUrl ?? '', '', { ca: wrapper.ca });

/** Writes a request and returns the beginning of the response. */
async function request({ socket }: RawConnection, path: string, bytes?: string): Promise<string> {
  socket.write(bytes ?? `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  const [head] = await once(socket, 'data');
  return String(head);
}
