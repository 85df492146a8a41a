import { readdirSync, readFileSync } from 'node:fs';
import type { Codec, ObjectBytes, RawEvent } from '../../../src/filter/codec/codec.ts';
import { JsonCodec } from '../../../src/filter/codec/json/json-codec.ts';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import { RESOURCES, type Resource } from '../../../src/filter/objects/resource.ts';
import { decodeStream } from './decode-stream.ts';

const DIRECTORY = new URL('../../fixtures/', import.meta.url);

/** The type of the objects in a metadata-only response. */
export const PARTIAL_METADATA: Resource = {
  group: 'meta.k8s.io',
  version: 'v1',
  plural: 'partialobjectmetadata',
  kind: 'PartialObjectMetadata',
  namespaced: true,
};

export const CODECS: readonly Codec[] = [new ProtobufCodec(), new JsonCodec()];

export interface Fixture {
  readonly file: string;
  /** The file's name without its encoding, the same for both. */
  readonly name: string;
  readonly kind: 'list' | 'watch' | 'status';
  readonly metadataOnly: boolean;
  readonly bytes: Buffer;
  readonly codec: Codec;
  readonly resource: Resource;
}

export const FIXTURES: readonly Fixture[] = readdirSync(DIRECTORY)
  .filter((file) => /\.(pb|json)$/.test(file) && file !== 'index.json')
  .sort()
  .map(loadFixture);

export const LISTS = FIXTURES.filter(({ kind }) => kind === 'list');
export const WATCHES = FIXTURES.filter(({ kind }) => kind === 'watch');
export const STATUSES = FIXTURES.filter(({ kind }) => kind === 'status');

function loadFixture(file: string): Fixture {
  const [collection = '', kind = '', ...rest] = file.split('.');
  const encoding = file.endsWith('.pb') ? 'protobuf' : 'json';
  const metadataOnly = rest.includes('meta');
  const plain = RESOURCES.find(({ plural }) => plural === collection) ?? PARTIAL_METADATA;
  return {
    file,
    name: file.slice(0, file.lastIndexOf('.')),
    kind: collection === 'status' ? 'status' : kind === 'list' ? 'list' : 'watch',
    metadataOnly,
    bytes: readFileSync(new URL(file, DIRECTORY)),
    codec: codecOf(encoding),
    resource: metadataOnly ? PARTIAL_METADATA : plain,
  };
}

export function codecOf(encoding: Codec['encoding']): Codec {
  const codec = CODECS.find((candidate) => candidate.encoding === encoding);
  if (codec === undefined) throw new Error(`no codec for ${encoding}`);
  return codec;
}

/** The fixture of a file. */
export function fixture(file: string): Fixture {
  const found = FIXTURES.find((candidate) => candidate.file === file);
  if (found === undefined) throw new Error(`no fixture ${file}`);
  return found;
}

/** Bytes as a stream of chunks that end at the given offsets. */
export async function* chunked(
  bytes: Buffer,
  ends: Iterable<number>,
): AsyncGenerator<Buffer, void, undefined> {
  let start = 0;
  for (const end of ends) {
    yield bytes.subarray(start, end);
    start = end;
  }
  yield bytes.subarray(start);
}

/** All events of a stream. */
export async function decodeAll(
  codec: Codec,
  chunks: AsyncIterable<Buffer>,
  maxFrameBytes = 1_000_000,
): Promise<RawEvent[]> {
  const events: RawEvent[] = [];
  await decodeInto(events, codec, chunks, maxFrameBytes);
  return events;
}

/** Adds the events of a stream to `events`, including those before a fault. */
export async function decodeInto(
  events: RawEvent[],
  codec: Codec,
  chunks: AsyncIterable<Buffer>,
  maxFrameBytes: number,
): Promise<void> {
  const take = (decoded: RawEvent[]) => void events.push(...decoded);
  await decodeStream(codec.watchDecoder(maxFrameBytes), chunks, take);
}

/** The events of a watch fixture, decoded from one chunk. */
export function eventsOf({ codec, bytes }: Fixture): Promise<RawEvent[]> {
  return decodeAll(codec, chunked(bytes, []));
}

/** The objects of a list or watch fixture, bookmarks included. */
export async function objectsOf(from: Fixture): Promise<ObjectBytes[]> {
  if (from.kind === 'list') return [...from.codec.decodeList([from.bytes]).items];
  const events = await eventsOf(from);
  return events.flatMap((event) => (event.type === 'ERROR' ? [] : [event.object]));
}

/** The facts of an object that the codec reads for its resource. */
export function factsOf(codec: Codec, resource: Resource, object: ObjectBytes): unknown {
  switch (resource.kind) {
    case 'EndpointSlice':
    case 'Endpoints':
      return codec.endpoints(resource, object);
    case 'Service':
      return codec.service(object);
    default:
      return codec.partialMetadata(object);
  }
}
