import { describe, expect, test } from '@jest/globals';
import { asksForMetadata, negotiate } from '../../src/proxy/media-type.ts';

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
  ])('Accept %p is answered as %s', (accept, encoding) => {
    expect(negotiate(accept)).toBe(encoding);
  });

  // What every object has by its prototype was taken for an encoding, and ended the process.
  test.each(Object.getOwnPropertyNames(Object.prototype))('Accept %p is no encoding', (accept) => {
    expect(() => negotiate(accept)).toThrow(expect.objectContaining({ code: 'NotAcceptable' }));
  });

  test.each([
    ...['text/plain', 'application/cbor', 'application/json;as=Table', '*/*;q=0', ';'],
    // client-go's metadata client: a watch of whole objects it could not read.
    METADATA,
  ])('Accept %p cannot be served', (accept) => {
    expect(() => negotiate(accept)).toThrow(expect.objectContaining({ code: 'NotAcceptable' }));
  });
});

test.each([
  [METADATA, true],
  ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', false],
  ['application/json,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1', false],
  [undefined, false],
])('Accept %p asks for metadata: %p', (accept, metadata) => {
  expect(asksForMetadata(accept)).toBe(metadata);
});
