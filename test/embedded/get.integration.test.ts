import { describe, expect, test } from '@jest/globals';
import { sendRequest } from '../support/embedded/embedded-client.ts';
import { node, slice, useApiServer } from '../support/embedded/embedded-server.ts';

const start = useApiServer();

const PROTOBUF = 'application/vnd.kubernetes.protobuf';

describe('GET of one object', () => {
  test('returns kind and apiVersion, unlike the items of a list', async () => {
    const { server, url } = await start();
    server.create('endpointslices', slice('web-1', 'web', ['10.0.0.1']));
    const path = `${url}/apis/discovery.k8s.io/v1/namespaces/default/endpointslices`;
    const object = (await sendRequest(`${path}/web-1`)).json();
    expect([object.kind, object.apiVersion]).toEqual(['EndpointSlice', 'discovery.k8s.io/v1']);
    const [item] = (await sendRequest(path)).json().items;
    expect([item.kind, item.apiVersion]).toEqual([undefined, undefined]);
    expect(item.metadata).toEqual(object.metadata);
  });

  test('ignores `watch` and returns the object', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1'));
    const answer = await sendRequest(`${url}/api/v1/nodes/edge-1?watch=1&timeoutSeconds=1`);
    expect([answer.json().kind, server.openWatches()]).toEqual(['Node', []]);
  });

  test('of a missing name is 404 with the details of the name', async () => {
    const { url } = await start();
    const answer = await sendRequest(
      `${url}/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/no`,
    );
    expect(answer.status).toBe(404);
    expect(answer.json()).toMatchObject({
      reason: 'NotFound',
      message: 'endpointslices.discovery.k8s.io "no" not found',
      details: { name: 'no', group: 'discovery.k8s.io', kind: 'endpointslices' },
    });
  });

  test.each([
    '/api/v1/pods',
    '/apis/discovery.k8s.io/v1beta1/endpointslices',
    '/api/v1/namespaces/default/nodes',
    '/api/v1/services/web',
    '/nonsense',
    '/api/v1/nodes/a/b/c',
  ])('%s is no path: a 404 Status', async (path) => {
    const { url } = await start();
    const answer = await sendRequest(url + path);
    expect([answer.status, answer.json().kind, answer.json().reason]).toEqual([
      404,
      'Status',
      'NotFound',
    ]);
  });
});

describe('content negotiation', () => {
  test.each([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    [`${PROTOBUF}, */*`, PROTOBUF],
    [`${PROTOBUF},application/json`, PROTOBUF],
    [`application/json,${PROTOBUF}`, 'application/json'],
    [`application/json;q=0.5,${PROTOBUF};q=0.9`, PROTOBUF],
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', 'application/json'],
    ['text/html,*/*;q=0.1', 'application/json'],
  ])('of %s gives %s', async (accept, type) => {
    const { url } = await start();
    const headers = accept === undefined ? {} : { accept };
    const answer = await sendRequest(`${url}/api/v1/nodes`, { headers });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, type]);
  });

  test.each(['text/html', 'application/json;as=Table;g=meta.k8s.io;v=v1', 'application/cbor'])(
    'refuses %s alone',
    async (accept) => {
      const { url } = await start();
      const answer = await sendRequest(`${url}/api/v1/nodes`, { headers: { accept } });
      expect([answer.status, answer.json().reason]).toEqual([406, 'NotAcceptable']);
    },
  );

  test('uses the metadata type of an object for an object and that of a list for a list', async () => {
    const { server, url } = await start();
    server.create('nodes', node('edge-1'));
    const get = async (path: string, kind: string) => {
      const accept = `application/json;as=${kind};g=meta.k8s.io;v=v1`;
      return (await sendRequest(`${url}/api/v1/${path}`, { headers: { accept } })).status;
    };
    expect(await get('nodes', 'PartialObjectMetadata')).toBe(406);
    expect(await get('nodes', 'PartialObjectMetadataList')).toBe(200);
    expect(await get('nodes/edge-1', 'PartialObjectMetadata')).toBe(200);
    expect(await get('nodes/edge-1', 'PartialObjectMetadataList')).toBe(406);
  });

  test('sends errors in the requested encoding', async () => {
    const { url } = await start();
    const answer = await sendRequest(`${url}/api/v1/nodes/no`, { headers: { accept: PROTOBUF } });
    expect(answer.headers['content-type']).toBe(PROTOBUF);
    expect(answer.body.subarray(0, 4).toString()).toBe('k8s\0');
    expect(answer.body.toString('latin1')).toContain('NotFound');
  });
});
