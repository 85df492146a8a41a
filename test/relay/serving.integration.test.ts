import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { writeServingFiles } from '../../harness/certificates.ts';
import type { Relay } from '../../src/relay/relay.ts';
import { eventually } from '../support/eventually.ts';
import {
  type AskOptions,
  ask,
  behind,
  codeOf,
  useRelayOf,
} from '../support/relay/relay-fixture.ts';
import { useFolder } from '../support/use-folder.ts';
import { putEndpoints, putService, putSlice } from '../support/wrapper/small-cluster.ts';
import { useCluster } from '../support/wrapper/use.ts';

const METADATA = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const ANY = 'resourceVersion=0';
/** One of the views that a relay always has open. */
const KEPT = `${SLICES}?labelSelector=%21service.kubernetes.io%2Fheadless`;

let cluster: ApiServer;
let api: string;
let relay: Relay;

beforeEach(async () => {
  cluster = useCluster({ bookmarkIntervalMs: 3_600_000 });
  putService(cluster, 'web', ['site']);
  putSlice(cluster, 'web-a', 'web', [{ ip: '10.0.0.1', node: 'edge-1' }]);
  putSlice(cluster, 'web-b', 'web', [{ ip: '10.0.0.2', node: 'edge-2' }]);
  putEndpoints(cluster, 'web', [{ ip: '10.0.0.1', node: 'edge-1' }]);
  api = await cluster.listen();
  relay = await useRelayOf(api, await writeServingFiles(useFolder()), { silenceMs: 200 });
});

const watchesOf = (collection: string): number =>
  cluster.openWatches().filter((watch) => watch.collection === collection).length;

describe('what wrappers read is served as the API server has it, with its versions:', () => {
  test.each([
    [`/api/v1/services?${ANY}`],
    [`${SLICES}?${ANY}&labelSelector=kubernetes.io%2Fservice-name%3Dweb`],
    [`/api/v1/endpoints?${ANY}`],
    [`/api/v1/nodes?${ANY}&fieldSelector=metadata.name%3Dedge-1`],
    [`/api/v1/nodes?${ANY}&fieldSelector=metadata.name%3Dedge-1&labelSelector=site%3Da`],
    [`/api/v1/nodes?${ANY}&labelSelector=site%3Da`, METADATA],
    [`/api/v1/namespaces?${ANY}`, METADATA],
    [`/apis/networking.k8s.io/v1/servicecidrs?${ANY}`],
  ])('%s', async (path, accept = 'application/json') => {
    const [here, there] = await Promise.all([
      ask(relay.url + path, { accept }),
      ask(api + path, { accept }),
    ]);
    expect(here.code).toBe(200);
    // Items of a list have no kind, except these of an API server in JSON.
    const items = there.body.items.map((each) => ({
      ...each,
      kind: undefined,
      apiVersion: undefined,
    }));
    expect(here.body).toEqual({ ...there.body, items });
  });
});

test('it listens over https only', () => {
  expect(relay.listeners.addresses).toHaveLength(1);
  expect(relay.url).toMatch(/^https:/);
});

// Each refused what the other one asked it for.
test('it does not start with relays of its own', async () => {
  const files = await writeServingFiles(useFolder());
  await expect(useRelayOf(api, files, behind(api, files, relay))).rejects.toMatchObject({
    code: 'InvalidSettings',
    message: expect.stringMatching(/^relays: .* remove this setting/),
  });
});

test('all clients of a query share one watch at the API server', async () => {
  const path = `${KEPT}&${ANY}`;
  await Promise.all(Array.from({ length: 5 }, (_, n) => ask(relay.url + path, { token: `${n}` })));
  await eventually(() => watchesOf('endpointslices'), 2);
});

describe('everything else is refused:', () => {
  test.each<[path: string, options: AskOptions, code: number]>([
    [SLICES, {}, 400],
    [`${SLICES}?resourceVersion=`, {}, 400],
    [`${SLICES}?resourceVersion=7&resourceVersionMatch=Exact`, {}, 400],
    [`${SLICES}?${ANY}&watch=true`, {}, 400],
    [`${SLICES}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`, {}, 400],
    [`/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-a`, {}, 400],
    [`/api/v1/nodes?${ANY}`, {}, 400],
    [`/api/v1/nodes?${ANY}`, { accept: METADATA }, 400],
    [`/api/v1/nodes?${ANY}&labelSelector=site%3Da`, {}, 400],
    [`/api/v1/namespaces?${ANY}`, {}, 400],
    [`/api/v1/services?${ANY}`, { accept: METADATA }, 400],
    [`/api/v1/pods?${ANY}`, {}, 400],
    ['/api', {}, 400],
    ['/version', {}, 400],
    [`/api/v1/services`, { method: 'POST' }, 400],
    [`${SLICES}?${ANY}`, { headers: { 'impersonate-user': 'admin' } }, 403],
    [`${SLICES}?${ANY}`, { token: undefined }, 401],
  ])('%s %o', async (path, options, code) => {
    const answer = await ask(relay.url + path, options);
    expect(answer).toMatchObject({ code, body: { kind: 'Status' } });
    expect(cluster.requests.filter(({ path: seen }) => /pods|version$/.test(seen))).toEqual([]);
  });
});

test('a caller that the API server refuses gets 403', async () => {
  cluster.refuse(({ path }) => path.endsWith('selfsubjectaccessreviews'), 403);
  expect((await ask(`${relay.url}${KEPT}&${ANY}`)).code).toBe(403);
});

test('the check of a known object reads the view of all', async () => {
  await ask(`${relay.url}${KEPT}&${ANY}`);
  const selector = 'fieldSelector=metadata.name%3Dweb-b%2Cmetadata.namespace%3Ddefault';
  const version = String(cluster.resourceVersion);
  const { body } = await ask(`${relay.url}${KEPT}&${selector}&resourceVersion=${version}`);
  expect(body.items.map(({ metadata }) => metadata.name)).toEqual(['web-b']);
  expect(cluster.requests.some(({ query }) => query.get('fieldSelector')?.includes('web-b'))).toBe(
    false,
  );
});

test('a version that it has not reached is waited for, with proof that nothing is missing', async () => {
  await ask(`${relay.url}${KEPT}&${ANY}`);
  await eventually(() => watchesOf('endpointslices') > 0, true);
  cluster.label('edge-3', 'moved', 'on');
  const version = String(cluster.resourceVersion);
  const answer = await ask(`${relay.url}${KEPT}&resourceVersion=${version}`);
  expect([answer.code, answer.body.metadata.resourceVersion]).toEqual([200, version]);
});

test('it never answers with an older state than requested, even if its own watch lags', async () => {
  await ask(`${relay.url}${KEPT}&${ANY}`);
  await eventually(() => watchesOf('endpointslices'), 2);
  const thaw = cluster.freezeWatches();
  putSlice(cluster, 'web-c', 'web', [{ ip: '10.0.0.3', node: 'edge-3' }]);
  const path = `${relay.url}${KEPT}&resourceVersion=${cluster.resourceVersion}`;
  const answer = await ask(path);
  expect(answer).toMatchObject({
    code: 504,
    body: { details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } },
  });
  thaw();
  const { items } = (await ask(path)).body;
  expect(items.map(({ metadata }) => metadata.name)).toEqual(['web-a', 'web-b', 'web-c']);
});

test('a watch from a version before its start is one ERROR event of 410, as of an API server', async () => {
  await ask(`${relay.url}${KEPT}&${ANY}`);
  const answer = await ask(`${relay.url}${KEPT}&watch=true&resourceVersion=1`);
  expect(answer).toMatchObject({ code: 200, body: { type: 'ERROR', object: { code: 410 } } });
});

// A list does not have what happened on the way to it.
test('a watch from a version before a list is one ERROR event of 410 too', async () => {
  const path = `${relay.url}${KEPT}`;
  const { resourceVersion } = (await ask(`${path}&${ANY}`)).body.metadata;
  const port = Number(new URL(api).port);
  await cluster.close();
  putSlice(cluster, 'web-c', 'web', [{ ip: '10.0.0.3', node: 'edge-3' }]);
  cluster.compact();
  await cluster.listen(port);
  const names = async () =>
    (await ask(`${path}&${ANY}`)).body.items?.map(({ metadata }) => metadata.name);
  await eventually(names, ['web-a', 'web-b', 'web-c']);
  await eventually(() => watchesOf('endpointslices'), 2);
  const answer = await ask(`${path}&watch=true&resourceVersion=${resourceVersion}`);
  expect(answer).toMatchObject({ code: 200, body: { type: 'ERROR', object: { code: 410 } } });
});

test('a request that waits for a version ends when its view is closed', async () => {
  const files = await writeServingFiles(useFolder());
  const small = await useRelayOf(api, files, { maxViewBytes: 50_000 });
  const path = `${small.url}${SLICES}?labelSelector=kubernetes.io%2Fservice-name%3Dweb`;
  expect((await ask(`${path}&${ANY}`)).code).toBe(200);
  const waiting = ask(`${path}&resourceVersion=999999`);
  const isProbed = () => cluster.requests.some(({ query }) => query.has('timeoutSeconds', '3'));
  await eventually(isProbed, true);
  const endpoints = Array.from({ length: 1_000 }, (_, n) => ({
    ip: `10.0.${n >> 8}.${n & 255}`,
    node: 'edge-1',
  }));
  putSlice(cluster, 'web-c', 'web', endpoints);
  expect(await waiting).toMatchObject({
    code: 503,
    body: { message: expect.stringContaining('maxViewBytes') },
  });
});

/** What a kube-proxy before 1.33 asks for, and what no kube-proxy does. */
const OLDER = '!service.kubernetes.io/headless,!service.kubernetes.io/service-proxy-name';
const ODD = 'odd';
const isOdd = ({ query }: { readonly query: URLSearchParams }) =>
  [OLDER, ODD].includes(query.get('labelSelector') ?? '');

test.each([
  ['rejects', () => cluster.refuse(isOdd, 400)],
  ['does not answer', () => cluster.hold(isOdd)],
])('a query that the API server %s does not make it unready', async (_how, fail) => {
  await eventually(() => relay.views.problem, undefined);
  fail();
  const asked = [OLDER, ODD].map(async (selector) => {
    const path = `/api/v1/services?${ANY}&labelSelector=${encodeURIComponent(selector)}`;
    await codeOf(relay.url + path).catch(() => {});
  });
  await eventually(() => cluster.requests.filter(isOdd).length >= 2, true);
  await Promise.race([Promise.all(asked), delay(500)]);
  expect(relay.views.problem).toBeUndefined();
});

test('without the API server it is not ready, ends its watches and answers 503 with the reason', async () => {
  await eventually(() => relay.views.problem, undefined);
  expect((await ask(`${relay.url}${KEPT}&${ANY}`)).code).toBe(200);
  const version = String(cluster.resourceVersion);
  const watching = ask(`${relay.url}${KEPT}&watch=true&resourceVersion=${version}`).catch(String);
  await eventually(() => relay.listeners.watches, 1);
  const port = Number(new URL(api).port);
  await cluster.close();
  // The stream ended, with a bookmark or without.
  await watching;
  await eventually(() => relay.views.problem?.includes('receives no changes'), true);
  const { code, body } = await ask(`${relay.url}${KEPT}&${ANY}`);
  expect([code, body.reason]).toEqual([503, 'ServiceUnavailable']);
  expect(body.message).toContain('receives no changes');
  await cluster.listen(port);
  await eventually(() => relay.views.problem, undefined);
  await eventually(async () => (await ask(`${relay.url}${KEPT}&${ANY}`)).code, 200);
  // Nothing was missed: a watch continues where it was.
  void ask(`${relay.url}${KEPT}&watch=true&resourceVersion=${version}`).catch(() => {});
  await eventually(() => relay.listeners.watches, 1);
});

test('whether it is ready does not depend on what callers read', async () => {
  const files = await writeServingFiles(useFolder());
  const small = await useRelayOf(api, files, { maxViewBytes: 30_000 });
  await eventually(() => small.views.problem, undefined);
  const code = async (selector: string): Promise<number> =>
    await codeOf(`${small.url}${SLICES}?${ANY}&labelSelector=${selector}`);
  // The second time it is complete from the start.
  for (let n = 0; n < 2; n++) expect(await code('x%21%3D1')).toBe(200);
  const endpoints = Array.from({ length: 900 }, (_, n) => ({
    ip: `10.0.${n >> 8}.${n & 255}`,
    node: 'edge-1',
  }));
  putSlice(cluster, 'web-a', 'web', endpoints);
  await eventually(() => code('x%21%3D1'), 503);
  expect(small.views.problem).toBeUndefined();
});
