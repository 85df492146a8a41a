import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  acceptOf,
  accepts,
  metadataAccept,
  negotiate,
} from '../../../src/client/api/media-type.ts';

const METADATA =
  'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,' +
  'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';

describe('negotiate()', () => {
  test.each([
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['application/json', 'json'],
    ['application/vnd.kubernetes.protobuf', 'protobuf'],
    ['application/vnd.kubernetes.protobuf, */*', 'protobuf'],
    ['application/vnd.kubernetes.protobuf,application/json', 'protobuf'],
    ['application/vnd.kubernetes.protobuf;stream=watch', 'protobuf'],
    ['application/json;q=0.5, application/vnd.kubernetes.protobuf', 'protobuf'],
    ['application/vnd.kubernetes.protobuf;q=0, application/json', 'json'],
    ['application/cbor, application/json', 'json'],
    ['Application/JSON; charset=utf-8', 'json'],
    ['application/json;as=Table;v=v1;g=meta.k8s.io, application/json', 'json'],
    // Parameters that an API server does not know, or that change no field.
    ['application/json;drop=metadata.managedFields', 'json'],
    [
      'application/vnd.kubernetes.protobuf;drop=metadata.managedFields,application/json;drop=metadata.managedFields',
      'protobuf',
    ],
    ['application/vnd.kubernetes.protobuf;type=watch', 'protobuf'],
    ['application/vnd.kubernetes.protobuf;type=watch, */*', 'protobuf'],
    ['application/json;pretty=1', 'json'],
    ['application/json;profile=local;export=1;sv=v1;x;y=;z=1=2;as=Table==', 'json'],
    ['application/vnd.kubernetes.protobuf;AS=Table', 'protobuf'],
    ['application/vnd.kubernetes.protobuf;as=', 'protobuf'],
    ['application/vnd.kubernetes.protobuf;as= , application/json', 'protobuf'],
    ['application/vnd.kubernetes.protobuf;stream=other, application/json', 'json'],
    ['application/vnd.kubernetes.protobuf;sv=v2, application/json', 'json'],
    ['application/vnd.kubernetes.protobuf;g=meta.k8s.io, application/json', 'json'],
    // The order of an API server: what is exact comes first, unless what follows has a higher quality.
    ['*/*, application/vnd.kubernetes.protobuf;q=0.5', 'protobuf'],
    ['application/vnd.kubernetes.protobuf;q=0.5, */*', 'json'],
    ['application/*, application/vnd.kubernetes.protobuf', 'protobuf'],
    ['application/*, text/html, */*;q=0.8', 'json'],
    ['text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2', 'json'],
    ['*/*;q=0', 'json'],
  ])('Accept %p is answered as %s', (accept, encoding) => {
    expect(negotiate(accept)).toBe(encoding);
  });

  // Regression: names from Object.prototype were accepted as encodings, and the process ended.
  test.each(Object.getOwnPropertyNames(Object.prototype))(
    'Accept %p is not an encoding',
    (accept) => {
      expect(() => negotiate(accept)).toThrow(expect.objectContaining({ code: 'NotAcceptable' }));
    },
  );

  test.each([
    ...['text/plain', 'application/cbor', 'application/json;as=Table', ';', ','],
    ...['application/*', 'application/*;q=1, text/html', 'text/*', '*', 'application/yaml'],
    ...['application/json;stream=other', 'application/json;sv=v2', 'application/json;v=v1'],
    // client-go's metadata client: it could not parse a watch of whole objects.
    METADATA,
  ])('Accept %p cannot be served', (accept) => {
    expect(() => negotiate(accept)).toThrow(expect.objectContaining({ code: 'NotAcceptable' }));
  });
});

const JSON_ONE = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const JSON_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const PROTOBUF_ONE =
  'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

describe('metadataAccept()', () => {
  test.each([
    // client-go's metadata client: an API server that does not know the first two clauses would send whole objects.
    [METADATA, `${PROTOBUF_ONE},${JSON_ONE}`],
    [JSON_ONE, JSON_ONE],
    [' Application/JSON ; v=v1; g=meta.k8s.io ;as=PartialObjectMetadata; q=0.5', JSON_ONE],
    [`${JSON_ONE};q=0.1,${PROTOBUF_ONE}`, `${PROTOBUF_ONE},${JSON_ONE}`],
    [`${JSON_ONE},text/html,${JSON_ONE}`, JSON_ONE],
    [`${JSON_ONE};drop=metadata.managedFields;q=0`, JSON_ONE],
    [`application/json;as=Table;as=PartialObjectMetadata;g=meta.k8s.io;v=v1`, JSON_ONE],
  ])('Accept %p of one object is sent as %p', (accept, sent) => {
    expect(metadataAccept(accept, 'PartialObjectMetadata')).toBe(sent);
  });

  test.each([
    [undefined],
    [''],
    ['*/*'],
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json'],
    [`application/json,${JSON_ONE}`],
    // An API server skips unknown clauses, and uses the next one.
    ['application/json;as=PartialObjectMetadataX;g=meta.k8s.io;v=v1,application/json'],
    ['application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v2,application/json'],
    ['application/json;as=PartialObjectMetadata;g=example.com;v=v1,application/json'],
    ['application/json;as=PartialObjectMetadata,application/json'],
    ['application/json;as=partialobjectmetadata;g=meta.k8s.io;v=v1,application/json'],
    ['application/json;as="PartialObjectMetadata";g=meta.k8s.io;v=v1,application/json'],
    [`${JSON_ONE}==,application/json`],
    [`${JSON_ONE};sv=v2,application/json`],
    [`${JSON_ONE};as=Table,application/json`],
    ['text/html;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'],
    // On a watch an API server sends whole objects for this kind.
    [JSON_LIST],
  ])('Accept %p of one object is not forwarded', (accept) => {
    expect(metadataAccept(accept, 'PartialObjectMetadata')).toBeUndefined();
  });

  test('the Accept header for a list has the kind of lists', () => {
    expect(metadataAccept(JSON_LIST, 'PartialObjectMetadataList')).toBe(JSON_LIST);
    expect(metadataAccept(JSON_ONE, 'PartialObjectMetadataList')).toBeUndefined();
  });

  const parts = fc.constantFrom(
    ...['application/json', 'application/vnd.kubernetes.protobuf', '*/*', 'application/yaml'],
    ...['as=PartialObjectMetadata', 'as=PartialObjectMetadataList', 'as=Table', 'AS=Table', 'as='],
    ...['as=PartialObjectMetadataX', 'as="PartialObjectMetadata"', 'as=PartialObjectMetadata='],
    ...['g=meta.k8s.io', 'v=v1', 'v=v1beta1', 'g=', 'q=0.5', 'q=0', 'q=2', 'q=x', 'stream=watch'],
    ...['pretty=1', 'sv=v1', 'export=1', 'charset=utf-8', 'profile=local', JSON_ONE, JSON_LIST],
  );
  const separators = fc.constantFrom(',', ';', ' ,', '; ', '\t;', ',,', ';;', ' ', '=');
  const accepts = fc
    .array(fc.tuple(parts, separators), { maxLength: 12 })
    .map((all) => all.flat().join(''));

  test('every clause that is forwarded is one of ours, and asks for metadata of the kind', () => {
    let forwarded = 0;
    const kinds = fc.constantFrom('PartialObjectMetadata', 'PartialObjectMetadataList');
    fc.assert(
      fc.property(accepts, kinds, (accept, kind) => {
        const sent = metadataAccept(accept, kind);
        if (sent === undefined) return;
        forwarded++;
        const types = ['application/json', 'application/vnd.kubernetes.protobuf'];
        const known = types.map((type) => `${type};as=${kind};g=meta.k8s.io;v=v1`);
        for (const clause of sent.split(',')) expect(known).toContain(clause);
      }),
      { numRuns: 5_000, seed: 1 },
    );
    expect(forwarded).toBeGreaterThan(50);
  });
});

describe('our own requests accept', () => {
  test.each([
    [{ encoding: 'json' }, false, 'application/json'],
    [
      { encoding: 'protobuf' },
      false,
      'application/vnd.kubernetes.protobuf, application/json;q=0.9',
    ],
    [
      { encoding: 'protobuf', metadataOnly: true },
      true,
      'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1;q=0.9, application/json;q=0.8',
    ],
  ] as const)('%j, watch %s: %s', (query, isWatch, accept) => {
    expect(acceptOf(query, isWatch)).toBe(accept);
  });
});

test.each([
  ['application/vnd.kubernetes.protobuf, */*', true],
  ['application/vnd.kubernetes.protobuf', false],
  ['application/vnd.kubernetes.protobuf, application/json;q=0', false],
  [undefined, true],
  ['', true],
])('a client with Accept %j reads JSON: %s', (accept, reads) => {
  expect(accepts(accept, 'json')).toBe(reads);
});
