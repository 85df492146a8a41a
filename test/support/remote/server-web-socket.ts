import { createHash } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** What the accept header is computed with (RFC 6455 section 1.3). */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const BINARY = 2;
const CLOSE = 8;

/**
 * The server's end of a WebSocket, as far as a kubelet's port-forward needs it: binary messages in one frame each, and
 * the end.
 */
export class ServerWebSocket extends EventEmitter<{ message: [Buffer]; close: [] }> {
  readonly #socket: Duplex;
  #unread: Buffer;

  constructor(request: IncomingMessage, socket: Duplex, head: Buffer, protocol: string) {
    super();
    this.#socket = socket;
    this.#unread = head;
    const key = request.headers['sec-websocket-key'];
    // What is sent at once arrives together with the handshake.
    socket.cork();
    process.nextTick(() => socket.uncork());
    const accept = createHash('sha1').update(`${key}${GUID}`).digest('base64');
    socket.write(
      [
        'HTTP/1.1 101 Switching Protocols',
        'upgrade: websocket',
        'connection: Upgrade',
        `sec-websocket-accept: ${accept}`,
        `sec-websocket-protocol: ${protocol}`,
        '\r\n',
      ].join('\r\n'),
    );
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    // Sockets of an HTTP server stay open when the client has ended.
    socket.once('end', () => socket.end());
    socket.on('error', () => {});
    socket.once('close', () => this.emit('close'));
  }

  send(message: Buffer): void {
    this.#write(BINARY, message);
  }

  close(): void {
    this.#write(CLOSE, Buffer.alloc(0));
    this.#socket.end();
  }

  terminate(): void {
    this.#socket.destroy();
  }

  #write(opcode: number, content: Buffer): void {
    if (this.#socket.writableEnded || this.#socket.destroyed) return;
    const head = Buffer.alloc(10);
    head[0] = 0x80 | opcode;
    // All lengths are written in 64 bits.
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(content.length), 2);
    this.#socket.write(Buffer.concat([head, content]));
  }

  #read(chunk: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    for (;;) {
      const frame = firstFrame(this.#unread);
      if (frame === undefined) return;
      this.#unread = this.#unread.subarray(frame.end);
      if (frame.opcode === CLOSE) this.close();
      else this.emit('message', frame.content);
    }
  }
}

/** The first frame of a client, whose content is masked; undefined: it is not complete. */
function firstFrame(
  bytes: Buffer,
): { readonly opcode: number; readonly content: Buffer; readonly end: number } | undefined {
  const short = (bytes[1] ?? 0) & 0x7f;
  const start = short === 127 ? 10 : short === 126 ? 4 : 2;
  if (bytes.length < start + 4) return undefined;
  const length =
    short === 127
      ? Number(bytes.readBigUInt64BE(2))
      : short === 126
        ? bytes.readUInt16BE(2)
        : short;
  const mask = bytes.subarray(start, start + 4);
  const end = start + 4 + length;
  if (bytes.length < end) return undefined;
  const content = bytes
    .subarray(start + 4, end)
    .map((byte, index) => byte ^ (mask[index % 4] ?? 0));
  return { opcode: (bytes[0] ?? 0) & 0x0f, content: Buffer.from(content), end };
}
