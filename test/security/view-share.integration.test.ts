import { expect, test } from '@jest/globals';
import { kubeProxyQueries } from '../../src/client/api/kube-proxy-queries.ts';
import { queryPath } from '../../src/client/api/query.ts';
import { type HttpsWrapper, useHttps } from '../support/wrapper/https-wrapper.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const PROTOBUF = { accept: 'application/vnd.kubernetes.protobuf' };

let wrapper: HttpsWrapper;

const list = (n: number, token: string) =>
  wrapper.ask(`${SLICES}?labelSelector=x%21%3D${n}`, { token });

test('each user of https gets a quarter of maxViews, whatever its token, and kube-proxy all of its queries', async () => {
  wrapper = await useHttps({}, { maxViews: 8 });
  expect((await list(1, 'weak')).code).toBe(200);
  expect((await list(2, 'weak/2')).code).toBe(200);
  const { code, body } = await list(3, 'weak/3');
  expect([code, body]).toEqual([503, expect.stringMatching(/2 of the 2 views.*maxViews/)]);
  expect((await list(3, 'other')).code).toBe(200);
  expect((await list(1, 'other')).code).toBe(200);
  expect(wrapper.proxy.views.budget.refusals).toMatchObject({ caller_views: 1, views: 0 });
  for (const query of kubeProxyQueries('edge-1')) {
    const answer = await wrapper.ask(queryPath(query), { token: 'weak', headers: PROTOBUF });
    expect([query, answer.code]).toEqual([query, 200]);
  }
});

test('all clients of plain http get a half of maxViews', async () => {
  wrapper = await useHttps({}, { maxViews: 8 });
  const listPlain = async (n: number) =>
    (await fetch(`${wrapper.proxy.url}${SLICES}?labelSelector=x%21%3D${n}`)).status;
  const answers: number[] = [];
  for (let n = 0; n < 5; n++) answers.push(await listPlain(n));
  expect(answers).toEqual([200, 200, 200, 200, 503]);
  expect((await list(5, 'other')).code).toBe(200);
});
