import { crc32 } from 'node:zlib';
import * as v from 'valibot';
import type { ObjectBytes } from '../../filter/codec/codec.ts';
import { isUpstreamVersion } from '../../filter/view/version-allocator.ts';

/**
 * The file of one query, all integers big-endian:
 *
 *     "KPWSNAP\0", version u32, length of the header u32, header in JSON, CRC-32 of all that u32,
 *     for each object: length u32, the object as the API server encoded it; CRC-32 of the objects u32
 *
 * Only the magic and the version are the same in every version. CRC-32 finds what a disk and a power cut do
 * (any torn end, any burst of up to 32 bits), and costs next to nothing on a small node. It does not protect against
 * a process that may write to the folder.
 */
const MAGIC = Buffer.from('KPWSNAP\0', 'latin1');
export const SNAPSHOT_VERSION = 1;
const PREFIX_BYTES = MAGIC.length + 8;
const LENGTH_BYTES = 4;
/** No header is longer: Node refuses a query of more than 16 KiB. */
export const MAX_HEADER_BYTES = 64 * 1024;
/** Objects are joined to chunks of about this size, so that no step blocks the event loop. */
const SNAPSHOT_CHUNK_BYTES = 1024 * 1024;

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

const headerSchema = v.object({
  /** Name of the Node that wrote it. */
  node: v.string(),
  /** Origins of the API servers it came from. */
  servers: v.array(v.string()),
  /** SHA-256 fingerprints of the certificate authorities that verified these; empty: those built into Node. */
  authorities: v.array(v.string()),
  /** Query with its encoding. 1.0.0 gave the field this name; another one would make its files unreadable. */
  question: v.string(),
  /** Version of the API server up to which everything is in here. */
  resourceVersion: v.pipe(v.string(), v.check(isUpstreamVersion)),
  /** When the API server reported the state, in milliseconds since the epoch: for people, as a clock may be wrong. */
  savedAt: count,
  /** The same as {@link StoredState.reportedAt}, and in which boot; absent: unknown, and in files of 1.2.0. */
  reported: v.optional(v.object({ boot: v.string(), at: count })),
  objects: count,
  /** Bytes of the objects, without their lengths. */
  bytes: count,
});

export type SnapshotHeader = v.InferOutput<typeof headerSchema>;

/** State of one query, as it is on disk. */
export interface StoredState {
  readonly resourceVersion: string;
  /** When the API server reported it, in milliseconds since the epoch. */
  readonly savedAt: number;
  /** The same in microseconds of the kernel's monotonic clock, which processes share; absent, 0: before this boot. */
  readonly reportedAt?: number | undefined;
  readonly objects: readonly ObjectBytes[];
}

/** Why a file cannot be trusted: it is damaged, of another node, cluster or query, or of a newer program. */
export class Untrusted extends Error {
  readonly kind: 'torn' | 'foreign' | 'newer';

  constructor(kind: Untrusted['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Size of the file for a header and its objects. */
export function snapshotBytes(header: SnapshotHeader): number {
  return encodeHeader(header).length + header.objects * LENGTH_BYTES + header.bytes + LENGTH_BYTES;
}

/** The file in chunks, each made when it is needed. */
export function* encodeSnapshot(
  header: SnapshotHeader,
  objects: readonly ObjectBytes[],
): Generator<Buffer, void, undefined> {
  yield encodeHeader(header);
  let crc = 0;
  let parts: Buffer[] = [];
  let bytes = 0;
  for (const object of objects) {
    parts.push(uint32(object.length), object);
    bytes += object.length + LENGTH_BYTES;
    if (bytes < SNAPSHOT_CHUNK_BYTES) continue;
    const chunk = Buffer.concat(parts, bytes);
    crc = crc32(chunk, crc);
    yield chunk;
    parts = [];
    bytes = 0;
  }
  const last = Buffer.concat(parts, bytes);
  yield Buffer.concat([last, uint32(crc32(last, crc))]);
}

/**
 * Reads a file; the objects share its memory. A file is whole only if no byte is missing, changed or added. Throws
 * {@link Untrusted}.
 */
export function decodeSnapshot(file: Buffer): {
  readonly header: SnapshotHeader;
  readonly objects: readonly ObjectBytes[];
} {
  const { header, end } = decodeHeader(file);
  return { header, objects: decodeObjects(header, file.subarray(end)) };
}

/**
 * Reads the header of a file from its first {@link MAX_HEADER_BYTES}. Throws {@link Untrusted}.
 *
 * @returns end: where the objects begin
 */
export function decodeHeader(file: Buffer): { header: SnapshotHeader; end: number } {
  if (file.length < PREFIX_BYTES) throw torn(`it has only ${file.length} bytes`);
  if (!file.subarray(0, MAGIC.length).equals(MAGIC)) throw torn('it does not begin as a snapshot');
  const version = file.readUInt32BE(MAGIC.length);
  if (version > SNAPSHOT_VERSION) {
    const message = `its format is version ${version}, this program reads ${SNAPSHOT_VERSION}`;
    throw new Untrusted('newer', message);
  }
  if (version !== SNAPSHOT_VERSION) throw torn(`its format is version ${version}`);
  const end = PREFIX_BYTES + file.readUInt32BE(MAGIC.length + 4);
  if (end + LENGTH_BYTES > file.length) throw torn('it ends within the header');
  if (crc32(file.subarray(0, end)) !== file.readUInt32BE(end)) {
    throw torn('the checksum of its header is wrong');
  }
  return { header: parseHeader(file.subarray(PREFIX_BYTES, end)), end: end + LENGTH_BYTES };
}

function decodeObjects(header: SnapshotHeader, body: Buffer): ObjectBytes[] {
  const end = header.objects * LENGTH_BYTES + header.bytes;
  if (body.length !== end + LENGTH_BYTES) {
    throw torn(`its objects take ${body.length} bytes, not ${end + LENGTH_BYTES}`);
  }
  if (crc32(body.subarray(0, end)) !== body.readUInt32BE(end)) {
    throw torn('the checksum of its objects is wrong');
  }
  const objects: ObjectBytes[] = [];
  let position = 0;
  while (position < end) {
    const start = position + LENGTH_BYTES;
    position = start + body.readUInt32BE(position);
    objects.push(body.subarray(start, position));
  }
  if (position !== end || objects.length !== header.objects) {
    throw torn('its objects do not fill it');
  }
  return objects;
}

function encodeHeader(header: SnapshotHeader): Buffer {
  const json = Buffer.from(JSON.stringify(header));
  const head = Buffer.concat([MAGIC, uint32(SNAPSHOT_VERSION), uint32(json.length), json]);
  return Buffer.concat([head, uint32(crc32(head))]);
}

function parseHeader(json: Buffer): SnapshotHeader {
  try {
    return v.parse(headerSchema, JSON.parse(json.toString()));
  } catch {
    // Its checksum is right, so that another program wrote it.
    throw torn('its header cannot be read');
  }
}

function torn(message: string): Untrusted {
  return new Untrusted('torn', message);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(LENGTH_BYTES);
  bytes.writeUInt32BE(value);
  return bytes;
}
