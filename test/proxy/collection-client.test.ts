import { expect, test } from '@jest/globals';
import { createJsonCodec } from '../../src/filter/json/codec.ts';
import { createProtobufCodec } from '../../src/filter/protobuf/codec.ts';
import { NODES, SERVICES } from '../../src/filter/resource.ts';
import { CollectionClient } from '../../src/proxy/collection-client.ts';
import { DEFAULT_READ_BOUNDS } from '../../src/proxy/read-bounds.ts';
import { isTooLargeVersion } from '../../src/proxy/upstream-error.ts';
import { upstreamPerTest } from '../support/http-upstream.ts';

const startUpstream = upstreamPerTest();

// As arguments of one call they overflowed the stack.
test('a page of 200,000 objects is read', async () => {
  const items = Array.from({ length: 200_000 }, (_, n) => ({ metadata: { name: `s${n}` } }));
  const list = { kind: 'ServiceList', metadata: { resourceVersion: '10' }, items };
  const { upstream } = await startUpstream((_request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(list));
  });
  const question = { resource: SERVICES, namespace: '', labelSelector: '', fieldSelector: '' };
  const client = new CollectionClient({
    ...{ upstream, codec: createJsonCodec(), metadataOnly: false, bounds: DEFAULT_READ_BOUNDS },
    question: { ...question, encoding: 'json' },
  });
  const listed = await client.list('0', new AbortController().signal);
  expect(listed.resourceVersion).toBe('10');
  expect(listed.items).toHaveLength(200_000);
  expect(String(listed.items.at(-1))).toBe('{"metadata":{"name":"s199999"}}');
});

// That the API server is behind our version was not understood, so that a node set never listed anew.
test('an error in JSON is understood where metadata was asked for in protobuf', async () => {
  const said = {
    kind: 'Status',
    status: 'Failure',
    code: 504,
    reason: 'Timeout',
    message: 'Too large resource version: 693, current: 650',
    details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large' }] },
  };
  const { upstream } = await startUpstream((_request, response) => {
    response.writeHead(504, { 'content-type': 'application/json', 'retry-after': '1' });
    response.end(JSON.stringify(said));
  });
  const question = { resource: NODES, namespace: '', labelSelector: 'site=a', fieldSelector: '' };
  const client = new CollectionClient({
    ...{ upstream, codec: createProtobufCodec(), metadataOnly: true, bounds: DEFAULT_READ_BOUNDS },
    question: { ...question, encoding: 'protobuf' },
  });
  const refused = await client.list('693', new AbortController().signal).catch((error) => error);
  expect(refused).toMatchObject({ code: 'Refused', message: expect.stringContaining('693') });
  expect(isTooLargeVersion(refused)).toBe(true);
});
