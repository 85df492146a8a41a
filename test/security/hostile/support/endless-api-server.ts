import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

/** How the answers go on for ever. */
export type EndlessKind =
  | 'protobuf or JSON as asked'
  | 'JSON always'
  | 'a gzip bomb'
  | 'one object';

/** An API server that answers every request with a list that does not end. */
export interface EndlessApiServer {
  readonly url: string;
  /** Requests so far. */
  requests(): number;
  /** Megabytes sent so far, before they are unpacked. */
  megabytes(): number;
  close(): Promise<void>;
}

/** An answer ends after so many bytes, so that the test does whatever the wrapper does. */
const MOST_BYTES = 1024 ** 3;
const CHUNK_BYTES = 256 * 1024;

export async function startEndlessApiServer(kind: EndlessKind): Promise<EndlessApiServer> {
  let requests = 0;
  let bytes = 0;
  const server = createServer((request, response) => {
    requests += 1;
    const protobuf = /protobuf/.test(request.headers.accept ?? '') && kind !== 'JSON always';
    const [type, head, chunk] = protobuf && kind !== 'one object' ? PROTOBUF : JSON_LIST;
    const isBomb = kind === 'a gzip bomb';
    response.writeHead(200, {
      'content-type': type,
      ...(isBomb ? { 'content-encoding': 'gzip' } : {}),
    });
    const first = kind === 'one object' ? Buffer.from(`${head}{"data":"`) : Buffer.from(head);
    const more = kind === 'one object' ? Buffer.alloc(CHUNK_BYTES, 'x') : chunk;
    // A gzip file may have any number of members (RFC 1952, section 2.2).
    const [begin, next] = isBomb ? [gzipSync(first), BOMB] : [first, more];
    bytes += send(response, begin, next, (sent) => {
      bytes += sent;
    });
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    megabytes: () => Math.round(bytes / 1024 ** 2),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const ITEM = JSON.stringify({
  metadata: { name: 'a', namespace: 'b', labels: { c: 'd'.repeat(200) } },
});
const JSON_LIST = [
  'application/json',
  '{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[',
  Buffer.from(`${ITEM},`.repeat(Math.ceil(CHUNK_BYTES / ITEM.length))),
] as const;

/**
 * The envelope (`k8s\0`, runtime.Unknown) with a `raw` of 1 GiB that has one item after the other: field 2 of a list
 * (k8s.io/apimachinery runtime/generated.proto, api/core/v1/generated.proto).
 */
const PROTOBUF = [
  'application/vnd.kubernetes.protobuf',
  Buffer.concat([Buffer.from('k8s\0'), Buffer.from([0x12, 0x80, 0x80, 0x80, 0x80, 0x04])]).toString(
    'latin1',
  ),
  Buffer.alloc(CHUNK_BYTES, Buffer.concat([Buffer.from([0x12, 0x7e]), Buffer.alloc(126, 0)])),
] as const;

const BOMB = gzipSync(Buffer.alloc(16 * 1024 ** 2, `${ITEM},`));

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
