import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { RequestOptions } from '../http/http-client.ts';
import {
  type Answer,
  protobufFrames,
  type SeenEvent,
  sendRequest,
  summarize,
  watch,
} from './fake-apiserver-client.ts';

/** An API server that is checked, with nothing in it that the contract looks at. */
export interface CheckedServer {
  readonly url: string;
  /** Authenticate an administrator. */
  readonly headers: Readonly<Record<string, string>>;
  /** PEM of the authority of an https server. */
  readonly ca?: string;
  /** From now on no watch can continue from an earlier version. */
  forgetHistory(): Promise<void>;
  stop(): Promise<void>;
}

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const STREAMING = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';

/**
 * What the wrapper and its tests rely on in an API server. It is run against the fake one and against a real
 * kube-apiserver, so that a test with the fake one proves something about the real one.
 */
export function describeApiServer(start: () => Promise<CheckedServer>): void {
  let server: CheckedServer;
  let namespaces = 0;
  /** A new one for each test. */
  let namespace: string;
  /** Path of the Services in it. */
  let services: string;

  beforeAll(async () => {
    server = await start();
  });

  afterAll(async () => {
    await server?.stop();
  });

  beforeEach(async () => {
    namespaces += 1;
    namespace = `contract-${namespaces}`;
    services = `/api/v1/namespaces/${namespace}/services`;
    await created('/api/v1/namespaces', { metadata: { name: namespace } });
  });

  function withCredentials(options: RequestOptions): RequestOptions {
    return { ...options, headers: { ...server.headers, ...options.headers }, ca: server.ca };
  }

  async function send(path: string, options: RequestOptions = {}): Promise<Answer> {
    return await sendRequest(server.url + path, withCredentials(options));
  }

  async function write(
    method: string,
    path: string,
    body: unknown,
    type = 'application/json',
  ): Promise<Answer> {
    const headers = { 'content-type': type };
    return await send(path, { method, headers, body: JSON.stringify(body) });
  }

  async function patch(path: string, body: unknown): Promise<Answer> {
    return await write('PATCH', path, body, 'application/merge-patch+json');
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into objects of any kind
  async function created(path: string, object: object): Promise<any> {
    const answer = await write('POST', path, object);
    expect([path, answer.status, answer.body.toString()]).toEqual([path, 201, expect.anything()]);
    return answer.json();
  }

  /** Creates a Service; returns its resourceVersion. */
  async function createService(name: string, labels: object = {}, spec: object = {}) {
    const service = { metadata: { name, labels }, spec: { ports: [{ port: 80 }], ...spec } };
    return (await created(services, service)).metadata.resourceVersion as string;
  }

  async function label(name: string, labels: object): Promise<string> {
    const answer = await patch(`${services}/${name}`, { metadata: { labels } });
    return answer.json().metadata.resourceVersion;
  }

  async function remove(name: string): Promise<Answer> {
    return await send(`${services}/${name}`, { method: 'DELETE' });
  }

  /** A list that is as new as all writes so far; afterwards the cache of the server is, too. */
  async function list(
    query = '',
  ): Promise<{ metadata: { resourceVersion: string }; names: string[] }> {
    const { metadata, items } = (await send(`${services}?${query}`)).json();
    return { metadata, names: items.map((item: SeenEvent['object']) => item.metadata.name) };
  }

  async function watchServices(query: string, accept = 'application/json') {
    const { headers = {}, ca } = withCredentials({ headers: { accept } });
    return await watch(`${server.url}${services}?watch=true&${query}`, headers, ca);
  }

  function expectStatus(answer: Answer, code: number, reason: string): void {
    expect([answer.status, answer.json()]).toMatchObject([code, { kind: 'Status', code, reason }]);
  }

  describe('GET and LIST', () => {
    test('an object has kind and apiVersion, the item of a list has not', async () => {
      await createService('web');
      const object = (await send(`${services}/web`)).json();
      expect(object).toMatchObject({ kind: 'Service', apiVersion: 'v1' });
      const { kind, apiVersion, items } = (await send(services)).json();
      expect([kind, apiVersion]).toEqual(['ServiceList', 'v1']);
      expect(items).toHaveLength(1);
      expect(Object.keys(items[0])).not.toContain('kind');
      expect(items[0].metadata).toEqual(object.metadata);
    });

    test.each([
      '',
      'resourceVersion=0',
      'resourceVersion=NEWEST',
      'resourceVersion=NEWEST&resourceVersionMatch=NotOlderThan',
    ])('a list with %j has the newest state, and the version of the last write', async (query) => {
      await createService('a');
      const newest = await createService('b');
      await list();
      const { names, metadata } = await list(query.replace('NEWEST', newest));
      expect(names).toEqual(['a', 'b']);
      expect(BigInt(metadata.resourceVersion)).toBeGreaterThanOrEqual(BigInt(newest));
    });

    test.each(['', '/web'])(
      'a version that does not exist yet is refused: services%s',
      async (name) => {
        await createService('web');
        const answer = await send(`${services}${name}?resourceVersion=99999999`);
        expectStatus(answer, 504, 'Timeout');
        expect(answer.headers['retry-after']).toBe('1');
        const { causes } = answer.json().details;
        expect(causes).toMatchObject([{ reason: 'ResourceVersionTooLarge' }]);
      },
    );

    test.each([
      ['resourceVersion=abc', 400, 'BadRequest'],
      ['labelSelector=a%20b', 400, 'BadRequest'],
      ['fieldSelector=spec.selector%3Dx', 400, 'BadRequest'],
      ['resourceVersionMatch=Exact', 422, 'Invalid'],
      ['sendInitialEvents=true', 422, 'Invalid'],
    ])('a list with %s is refused: %d %s', async (query, code, reason) => {
      expectStatus(await send(`${services}?${query}`), code, reason);
    });

    test('a missing object is 404 with its name, in the encoding that is asked for', async () => {
      const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/no`;
      const answer = await send(path);
      expectStatus(answer, 404, 'NotFound');
      expect(answer.json()).toMatchObject({
        message: 'endpointslices.discovery.k8s.io "no" not found',
        details: { name: 'no', group: 'discovery.k8s.io', kind: 'endpointslices' },
      });
      const encoded = await send(path, { headers: { accept: PROTOBUF } });
      expect(encoded.headers['content-type']).toBe(PROTOBUF);
      expect(encoded.body.toString('latin1')).toMatch(/^k8s\0.*NotFound/s);
    });

    test('a large list is compressed for a client that takes gzip, a small one never', async () => {
      const headers = { 'accept-encoding': 'gzip' };
      expect((await send(services, { headers })).headers['content-encoding']).toBeUndefined();
      const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
      const endpoints = Array.from({ length: 1_000 }, (_, index) => ({
        addresses: [`10.0.${index >> 8}.${index & 255}`],
      }));
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
        const metadata = { name, labels: { 'kubernetes.io/service-name': 'web' } };
        await created(slices, { metadata, addressType: 'IPv4', endpoints, ports: [{ port: 80 }] });
      }
      const plain = await send(slices);
      const packed = await send(slices, { headers });
      expect([plain, packed].map((each) => each.headers['content-encoding'])).toEqual([
        undefined,
        'gzip',
      ]);
      expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
    });
  });

  test('health, version and the resources of a group are reported', async () => {
    expect((await send('/readyz')).body.toString()).toBe('ok');
    expect((await send('/version')).json().major).toBe('1');
    const { groups } = (await send('/apis')).json();
    expect(groups).toContainEqual(expect.objectContaining({ name: 'discovery.k8s.io' }));
    const { resources } = (await send('/apis/discovery.k8s.io/v1')).json();
    const slices = { name: 'endpointslices', kind: 'EndpointSlice', namespaced: true };
    expect(resources).toMatchObject([slices]);
  });

  describe('selectors', () => {
    test.each([
      ['labelSelector', 'site', ['a', 'b']],
      ['labelSelector', '!site', ['none']],
      ['labelSelector', 'site=a', ['a']],
      ['labelSelector', 'site == a', ['a']],
      ['labelSelector', 'site!=a', ['b', 'none']],
      ['labelSelector', 'site in (a, c)', ['a']],
      ['labelSelector', 'site notin (a)', ['b', 'none']],
      ['labelSelector', 'edge=', ['a']],
      ['labelSelector', 'edge!=', ['b', 'none']],
      ['labelSelector', 'site in (a,b),!edge', ['b']],
      ['labelSelector', 'example.com/x-y.z=1', []],
      ['fieldSelector', 'metadata.name=a', ['a']],
      ['fieldSelector', 'metadata.name!=a', ['b', 'none']],
      ['fieldSelector', 'metadata.namespace=other', []],
      ['fieldSelector', 'spec.clusterIP!=None', ['a', 'none']],
      ['fieldSelector', 'spec.clusterIP==None,metadata.name!=a', ['b']],
    ])('%s "%s" selects %j', async (kind, selector, names) => {
      await createService('a', { site: 'a', edge: '' });
      await createService('b', { site: 'b' }, { clusterIP: 'None' });
      await createService('none');
      expect((await list(`${kind}=${encodeURIComponent(selector)}`)).names).toEqual(names);
    });

    test.each([
      ['labelSelector', 'site in ('],
      ['labelSelector', 'site=a=b'],
      ['labelSelector', 'site in a'],
      ['labelSelector', '=a'],
      ['fieldSelector', 'web'],
    ])('%s "%s" is refused', async (kind, selector) => {
      const answer = await send(`${services}?${kind}=${encodeURIComponent(selector)}`);
      expectStatus(answer, 400, 'BadRequest');
    });
  });

  describe('content negotiation', () => {
    test.each([
      [undefined, 'application/json'],
      ['*/*', 'application/json'],
      [`${PROTOBUF}, */*`, PROTOBUF],
      [`application/json,${PROTOBUF}`, 'application/json'],
      ['application/json;as=Table;v=v9;g=meta.k8s.io,application/json', 'application/json'],
    ])('%s gets %s', async (accept, type) => {
      const headers: Record<string, string> = accept === undefined ? {} : { accept };
      const answer = await send(services, { headers });
      expect([answer.status, answer.headers['content-type']]).toEqual([200, type]);
    });

    test('another type alone is refused', async () => {
      const headers = { accept: 'application/cbor' };
      expectStatus(await send(services, { headers }), 406, 'NotAcceptable');
    });

    test('metadata alone is a type of its own for objects and for lists', async () => {
      await createService('web');
      const get = async (path: string, kind: string) => {
        const accept = `application/json;as=${kind};g=meta.k8s.io;v=v1`;
        return await send(path, { headers: { accept } });
      };
      const listed = await get(services, 'PartialObjectMetadataList');
      expect(listed.json()).toMatchObject({ kind: 'PartialObjectMetadataList' });
      expect(listed.json().items[0]).not.toHaveProperty('spec');
      expect((await get(`${services}/web`, 'PartialObjectMetadata')).status).toBe(200);
      expect((await get(services, 'PartialObjectMetadata')).status).toBe(406);
      expect((await get(`${services}/web`, 'PartialObjectMetadataList')).status).toBe(406);
    });
  });

  describe('WATCH', () => {
    test('continues after a version, with the changes since then and then new ones', async () => {
      const from = await createService('a');
      await createService('b');
      await label('a', { site: 'a' });
      const events = await watchServices(`resourceVersion=${from}`);
      expect(events.contentType).toBe('application/json');
      expect(summarize([await events.next(), await events.next()])).toEqual([
        'ADDED b',
        'MODIFIED a',
      ]);
      const last = await label('b', { site: 'b' });
      await remove('b');
      const [changed, deleted] = [await events.next(), await events.next()];
      expect(summarize([changed, deleted])).toEqual(['MODIFIED b', 'DELETED b']);
      expect(deleted?.object).toMatchObject({ kind: 'Service', apiVersion: 'v1' });
      expect(Number(deleted?.object.metadata.resourceVersion)).toBeGreaterThan(Number(last));
      events.close();
    });

    test.each(['', 'resourceVersion=', 'resourceVersion=0'])(
      'from "%s" begins with ADDED for all objects',
      async (version) => {
        for (const name of ['b', 'a']) await createService(name);
        await list();
        const events = await watchServices(version);
        expect(summarize([await events.next(), await events.next()]).sort()).toEqual([
          'ADDED a',
          'ADDED b',
        ]);
        await createService('c');
        expect(summarize([await events.next()])).toEqual(['ADDED c']);
        events.close();
      },
    );

    test('ends after timeoutSeconds', async () => {
      const from = await createService('a');
      await createService('b');
      const events = await watchServices(`resourceVersion=${from}&timeoutSeconds=1`);
      expect(summarize(await events.rest())).toEqual(['ADDED b']);
    });

    test.each([
      ['sendInitialEvents=true', 422],
      ['sendInitialEvents=true&resourceVersionMatch=Exact', 422],
      ['resourceVersionMatch=NotOlderThan', 422],
      ['labelSelector=a%20b', 400],
    ])('with %s is refused: %d', async (query, code) => {
      const answer = await send(`${services}?watch=1&${query}`);
      expect([answer.status, answer.json().kind]).toEqual([code, 'Status']);
    });

    test('with a selector sends ADDED and DELETED for what enters and leaves, as in the past', async () => {
      const from = await createService('a', { site: 'a' });
      await createService('never');
      const left = await label('a', { site: 'b' });
      await label('a', { other: 'x' });
      const entered = await label('a', { site: 'a' });
      const events = await watchServices(`resourceVersion=${from}&labelSelector=site%3Da`);
      expect(await events.next()).toMatchObject({
        type: 'DELETED',
        object: { metadata: { name: 'a', labels: { site: 'a' }, resourceVersion: left } },
      });
      expect(await events.next()).toMatchObject({
        type: 'ADDED',
        object: { metadata: { name: 'a', resourceVersion: entered } },
      });
      await label('a', { site: 'b' });
      expect(summarize([await events.next()])).toEqual(['DELETED a']);
      events.close();
    });

    test('that is a streaming list marks the end of the initial events for clients of bookmarks', async () => {
      for (const name of ['web', 'db']) await createService(name);
      const events = await watchServices(`allowWatchBookmarks=true&${STREAMING}`);
      const initial = [await events.next(), await events.next(), await events.next()];
      expect(summarize(initial)).toEqual(['ADDED db', 'ADDED web', 'BOOKMARK']);
      expect(initial[2]?.object.metadata.annotations).toEqual({
        'k8s.io/initial-events-end': 'true',
      });
      await label('web', { site: 'a' });
      expect(summarize([await events.next()])).toEqual(['MODIFIED web']);
      events.close();
      const without = await watchServices(`timeoutSeconds=1&${STREAMING}`);
      expect(summarize(await without.rest())).toEqual(['ADDED db', 'ADDED web']);
    });

    test('that is a streaming list of a version above the newest gets an ERROR event 504', async () => {
      const query = `allowWatchBookmarks=true&${STREAMING}&resourceVersion=99999999`;
      const [event] = await (await watchServices(query)).rest();
      const causes = [{ reason: 'ResourceVersionTooLarge' }];
      expect(event).toMatchObject({ type: 'ERROR', object: { code: 504, details: { causes } } });
    });

    test('of metadata alone has no spec', async () => {
      const from = await createService('a');
      await createService('b', { site: 'b' });
      const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
      const events = await watchServices(`resourceVersion=${from}`, accept);
      const added = await events.next();
      expect(Object.keys(added?.object)).toEqual(['kind', 'apiVersion', 'metadata']);
      expect(added?.object).toMatchObject({
        kind: 'PartialObjectMetadata',
        metadata: { name: 'b', labels: { site: 'b' } },
      });
      events.close();
    });

    test('in protobuf has the same events', async () => {
      const from = await createService('a');
      await createService('b');
      await remove('a');
      const query = `watch=1&resourceVersion=${from}&timeoutSeconds=1`;
      const headers = { accept: `${PROTOBUF}, */*` };
      const answer = await send(`${services}?${query}`, { headers });
      expect(answer.headers['content-type']).toBe(`${PROTOBUF};stream=watch`);
      expect(protobufFrames(answer.body).map(({ type, kind }) => `${type} ${kind}`)).toEqual([
        'ADDED Service',
        'DELETED Service',
      ]);
    });
  });

  describe('writes', () => {
    test('a Service gets its defaults', async () => {
      await createService('web');
      const { spec, status } = (await send(`${services}/web`)).json();
      expect(spec).toMatchObject({
        type: 'ClusterIP',
        clusterIP: expect.stringMatching(/^10\.\d+\.\d+\.\d+$/),
        sessionAffinity: 'None',
        internalTrafficPolicy: 'Cluster',
        ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
      });
      expect(status).toEqual({ loadBalancer: {} });
    });

    test('an unchanged object keeps its version, and a slice has a generation of its content', async () => {
      const version = await createService('web', { site: 'a' });
      expect(await label('web', { site: 'a' })).toBe(version);
      const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
      const first = await created(slices, {
        metadata: { name: 'web-1' },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.0.0.1'] }],
        ports: [{ port: 80 }],
      });
      const generations = [first.metadata.generation];
      for (const body of [
        { metadata: { annotations: { a: 'b' } } },
        { endpoints: [] },
        { metadata: { labels: { a: 'b' } } },
      ]) {
        generations.push((await patch(`${slices}/web-1`, body)).json().metadata.generation);
      }
      expect(generations).toEqual([1, 1, 2, 3]);
    });

    test.each([
      [
        'POST',
        '',
        { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } },
        409,
        'AlreadyExists',
      ],
      ['POST', '', { metadata: { name: 'Web' } }, 422, 'Invalid'],
      ['PUT', '/web', { metadata: { name: 'web', resourceVersion: '1' } }, 409, 'Conflict'],
      ['DELETE', '/no', {}, 404, 'NotFound'],
    ])('%s services%s of %j is refused: %d %s', async (method, name, body, code, reason) => {
      const version = await createService('web');
      expectStatus(await write(method, services + name, body), code, reason);
      expect((await send(`${services}/web`)).json().metadata.resourceVersion).toBe(version);
    });

    test('a token has a name in a SelfSubjectReview', async () => {
      const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
      const review = await write('POST', path, {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'SelfSubjectReview',
      });
      expect([review.status, review.json()]).toMatchObject([
        201,
        { kind: 'SelfSubjectReview', status: { userInfo: { username: expect.any(String) } } },
      ]);
    });
  });

  test('a watch from a version that is no longer known gets an ERROR event 410 and ends', async () => {
    const version = await createService('a');
    await createService('b');
    await server.forgetHistory();
    const events = await watchServices(`resourceVersion=${version}`);
    expect(events.status).toBe(200);
    expect(await events.rest()).toMatchObject([
      { type: 'ERROR', object: { kind: 'Status', reason: 'Expired', code: 410 } },
    ]);
  });
}
