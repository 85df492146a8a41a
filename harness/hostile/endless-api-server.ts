import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

/** The ways in which an answer does not end. */
export type EndlessKind =
  | 'protobuf or JSON as asked'
  | 'JSON always'
  | 'a gzip bomb'
  | 'one object';

/** An answer ends after so many bytes, so that the test does whatever the wrapper does. */
const MOST_BYTES = 1024 ** 3;
const CHUNK_BYTES = 256 * 1024;

/** An API server that answers every request with a list that does not end. */
export async function startEndlessApiServer(kind: EndlessKind) {
  let requests = 0;
  let bytes = 0;
  const server = createServer((request, response) => {
    requests += 1;
    const wantsProtobuf = /protobuf/.test(request.headers.accept ?? '');
    const format = wantsProtobuf && kind !== 'JSON always' ? PROTOBUF : JSON_LIST;
    const isBomb = kind === 'a gzip bomb';
    response.writeHead(200, {
      'content-type': format.type,
      ...(isBomb ? { 'content-encoding': 'gzip' } : {}),
    });
    const isOne = kind === 'one object';
    const first = isOne ? Buffer.concat([format.head, format.itemHead]) : format.head;
    const more = isOne ? FILLER : format.items;
    // A gzip file may have any number of members (RFC 1952, section 2.2).
    const [begin, next] = isBomb ? [gzipSync(first), bombOf(more)] : [first, more];
    bytes += send(response, begin, next, (sent) => {
      bytes += sent;
    });
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Requests so far. */
    requests: () => requests,
    /** Megabytes sent so far, before they are unpacked. */
    megabytes: () => Math.round(bytes / 1024 ** 2),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A list that never ends, in one encoding. */
interface EndlessList {
  readonly type: string;
  /** How it begins. */
  readonly head: Buffer;
  /** Whole items, again and again. */
  readonly items: Buffer;
  /** The beginning of an item that has no end either. */
  readonly itemHead: Buffer;
}

const FILLER = Buffer.alloc(CHUNK_BYTES, 'x');

/** So many copies that they fill a chunk. */
function repeated(item: Buffer): Buffer {
  return Buffer.concat(Array(Math.ceil(CHUNK_BYTES / item.length)).fill(item) as Buffer[]);
}

const JSON_LIST: EndlessList = {
  type: 'application/json',
  head: Buffer.from(
    '{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[',
  ),
  items: repeated(
    Buffer.from(`{"metadata":{"name":"a","namespace":"b","labels":{"c":"${'d'.repeat(60)}"}}},`),
  ),
  itemHead: Buffer.from('{"metadata":{"name":"'),
};

/** A field of wire type 2 (length-delimited) with fewer than 128 bytes. */
function field(number: number, value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}

/** An item of a list (field 2) with metadata (field 1) of a name (1) and a namespace (3). */
const PROTOBUF_ITEM = field(
  2,
  field(1, Buffer.concat([field(1, 'a'.repeat(50)), field(3, 'b'.repeat(50))])),
);

/**
 * The envelope (`k8s\0`, then runtime.Unknown with `raw`, field 2, of 1 GiB) with one item after the other
 * (k8s.io/apimachinery runtime/generated.proto, k8s.io/api core/v1/generated.proto).
 */
const PROTOBUF: EndlessList = {
  type: 'application/vnd.kubernetes.protobuf',
  head: Buffer.concat([
    Buffer.from('k8s\0'),
    Buffer.from([0x12, 0x80, 0x80, 0x80, 0x80, 0x04]),
    // The metadata of the list, with a resourceVersion.
    field(1, field(2, '1')),
  ]),
  items: repeated(PROTOBUF_ITEM),
  // An item of 768 MiB.
  itemHead: Buffer.from([0x12, 0x80, 0x80, 0x80, 0x80, 0x03]),
};

/** 64 chunks, packed. */
function bombOf(chunk: Buffer): Buffer {
  return gzipSync(Buffer.concat(Array(64).fill(chunk) as Buffer[]));
}

/** Writes `first`, and then `more` for as long as the other side takes it; returns the size of `first`. */
function send(
  response: ServerResponse,
  first: Buffer,
  more: Buffer,
  onSent: (bytes: number) => void,
): number {
  let total = first.length;
  const write = (): void => {
    while (!response.destroyed && total < MOST_BYTES) {
      total += more.length;
      onSent(more.length);
      if (!response.write(more)) return;
    }
    if (!response.destroyed) response.end();
  };
  response.on('error', () => {});
  response.on('drain', write);
  response.write(first);
  write();
  return first.length;
}
