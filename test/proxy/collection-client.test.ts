import { expect, test } from '@jest/globals';
import { createJsonCodec } from '../../src/filter/json/codec.ts';
import { SERVICES } from '../../src/filter/resource.ts';
import { CollectionClient } from '../../src/proxy/collection-client.ts';
import { DEFAULT_READ_BOUNDS } from '../../src/proxy/read-bounds.ts';
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
