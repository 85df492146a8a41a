import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { type CollectionName, collectionNamed } from '../../fake-apiserver/collections.ts';
import type { KubeStatus } from '../../fake-apiserver/kube-status.ts';
import { encodeMessage } from '../../fake-apiserver/protobuf-encode.ts';
import { MESSAGES } from '../../fake-apiserver/protobuf-schema.ts';
import {
  type EventType,
  encodeBookmark,
  encodeEvent,
  encodeList,
  encodeStatus,
  type Format,
} from '../../fake-apiserver/wire.ts';
import { protobufFrames, type SeenEvent } from '../support/fake-apiserver/fake-apiserver-client.ts';

/** Bytes that a real kube-apiserver 1.36.3 has sent; see test/fixtures/README.md. */
function fixture(name: string): Buffer {
  return readFileSync(new URL(`../fixtures/${name}`, import.meta.url));
}

const json = (metadataOnly: boolean): Format => ({ encoding: 'json', metadataOnly });
const protobuf = (metadataOnly: boolean): Format => ({ encoding: 'protobuf', metadataOnly });

/** Each stem names a .json and a .pb fixture. */
const LISTS: [string, CollectionName, boolean][] = [
  ['services.list', 'services', false],
  ['services.list.meta', 'services', true],
  ['endpointslices.list', 'endpointslices', false],
  ['endpoints.list', 'endpoints', false],
  ['nodes.list.meta', 'nodes', true],
];

const STREAMS: [string, CollectionName, boolean][] = [
  ['services.watch', 'services', false],
  ['services.watchlist', 'services', false],
  ['services.watch.meta', 'services', true],
  ['services.watchlist.meta', 'services', true],
  ['endpointslices.watch', 'endpointslices', false],
  ['endpointslices.watchlist', 'endpointslices', false],
  ['endpointslices.watch-replay', 'endpointslices', false],
  ['endpoints.watch', 'endpoints', false],
  ['endpoints.watchlist', 'endpoints', false],
  ['nodes.watch.meta', 'nodes', true],
  ['nodes.watchlist.meta', 'nodes', true],
];

describe('bytes are those of a real API server', () => {
  test.each(LISTS)('%s as JSON', (stem, collection, metadataOnly) => {
    const { metadata, items } = JSON.parse(fixture(`${stem}.json`).toString());
    const bytes = encodeList(collectionNamed(collection), metadata, items, json(metadataOnly));
    expect(bytes.toString()).toBe(fixture(`${stem}.json`).toString());
  });

  test.each(LISTS)('%s as protobuf, made from the JSON', (stem, collection, metadataOnly) => {
    const { items } = JSON.parse(fixture(`${stem}.json`).toString());
    // Captured later than the JSON, at the same state: all protobuf lists are of version 326.
    const meta = { resourceVersion: '326' };
    const bytes = encodeList(collectionNamed(collection), meta, items, protobuf(metadataOnly));
    expect(bytes.toString('hex')).toBe(fixture(`${stem}.pb`).toString('hex'));
  });

  test.each(STREAMS)('%s as JSON, including bookmarks', (stem, collection, metadataOnly) => {
    const bytes = eventsOf(stem).map((event) => frame(event, collection, json(metadataOnly)));
    expect(Buffer.concat(bytes).toString()).toBe(fixture(`${stem}.json`).toString());
  });

  test.each(STREAMS)('%s as protobuf, including bookmarks', (stem, collection, metadataOnly) => {
    const frames = eventsOf(stem).map((event) => frame(event, collection, protobuf(metadataOnly)));
    const real = protobufFrames(fixture(`${stem}.pb`)).map((each) => each.frame.toString('hex'));
    expect(frames.map((each) => each.toString('hex'))).toEqual(real);
  });

  test.each(['forbidden-or-missing', 'too-large-rv'])('status.%s in both encodings', (stem) => {
    const {
      kind: _,
      apiVersion: __,
      ...given
    } = JSON.parse(fixture(`status.${stem}.json`).toString());
    const status: KubeStatus = given;
    expect(encodeStatus(status, 'json').toString()).toBe(fixture(`status.${stem}.json`).toString());
    // The two were refused at different versions.
    const real = fixture(`status.${stem}.pb`).toString('latin1').replace('331', '329');
    expect(encodeStatus(status, 'protobuf').toString('latin1')).toBe(real);
  });
});

function eventsOf(stem: string): SeenEvent[] {
  const lines = fixture(`${stem}.json`).toString().trim().split('\n');
  return lines.map((line) => JSON.parse(line));
}

function frame({ type, object }: SeenEvent, name: CollectionName, format: Format): Buffer {
  const collection = collectionNamed(name);
  if (type !== 'BOOKMARK') return encodeEvent(collection, type as EventType, object, format);
  const { resourceVersion, annotations } = object.metadata;
  return encodeBookmark(collection, resourceVersion, annotations !== undefined, format);
}

describe('encodeMessage()', () => {
  // The captured bytes have only some of the fields.
  test('fields of a table ascend, as gogo writes them', () => {
    for (const [name, fields] of MESSAGES) {
      const numbers = fields.map(({ number }) => number);
      expect([name, ...numbers]).toEqual([name, ...numbers.toSorted((a, b) => a - b)]);
      expect(new Set(numbers).size).toBe(numbers.length);
    }
  });

  test.each([
    [
      'a named port is a string with the number 0',
      'ServicePort',
      { port: 80, targetPort: 'http' },
      '0a0012001850220a080110001a04687474702800',
    ],
    [
      'a quantity is its text',
      'NodeStatus',
      { capacity: { cpu: '4' } },
      /^0a0a0a0363707512030a0134/,
    ],
    ['a negative number takes ten bytes', 'DaemonEndpoint', { Port: -1 }, '08ffffffffffffffffff01'],
  ])('%s', (_, type, value, bytes) => {
    expect(encodeMessage(type, value).toString('hex')).toMatch(bytes);
  });

  test('a value of another type is refused by name', () => {
    const slice = { endpoints: [{ conditions: { ready: 1 } }] };
    const message = 'EndpointSlice.endpoints[0].conditions.ready: not a boolean';
    expect(() => encodeMessage('EndpointSlice', slice)).toThrow(new TypeError(message));
  });
});
