import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type HttpsWrapper, useHttps } from '../support/wrapper/https-wrapper.ts';
import { metricsOf } from '../support/wrapper/state-fixture.ts';

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
});

test('impersonation is forwarded with every group that was sent, for the API server to decide', async () => {
  const headers = { 'impersonate-user': 'admin', 'impersonate-group': ['a', 'b'] };
  await wrapper.ask('/version', { token: 'caller', headers });
  expect(wrapper.api.passed[0]?.lines).toMatchObject({ ...headers, 'impersonate-user': ['admin'] });
});

test('reviews, certificates and refused connections are counted', async () => {
  await wrapper.ask(SLICES, { token: 'counted' });
  const metrics = await metricsOf(wrapper.proxy);
  expect(metrics).toMatch(/kube_proxy_wrapper_access_reviews_total [1-9]/);
  expect(metrics).toMatch(/kube_proxy_wrapper_access_reviews_stale_total 0/);
  expect(metrics).toMatch(/kube_proxy_wrapper_https_certificate_expiry_timestamp_seconds [1-9]/);
  expect(metrics).toMatch(/https_certificate_not_before_timestamp_seconds [1-9]/);
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
