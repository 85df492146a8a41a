import { createServer, type Server, type TLSSocket } from 'node:tls';
import { type TestServer, track } from './http-server.ts';
import { servingPair } from './http2-server.ts';

const FRAME = { data: 0, headers: 1, rstStream: 3, settings: 4, goaway: 7 } as const;
const HEAD_BYTES = 9;
const PREFACE_BYTES = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.length;
/** `:status: 200` in the static table (RFC 7541 appendix A). */
const STATUS_200 = Buffer.from([0x88]);
const END_STREAM = 1;
const END_HEADERS = 4;

/** One connection of a {@link RawHttp2Server}. Stream ids of a client are 1, 3, 5, … */
export interface RawHttp2Connection {
  readonly socket: TLSSocket;
  /** Ids of the streams whose headers have arrived. */
  readonly streams: readonly number[];
  respond(stream: number): void;
  data(stream: number, body: string): void;
  /** Ends the response. */
  end(stream: number): void;
  reset(stream: number, code: number): void;
  goaway(lastStream: number, code: number): void;
}

/** A server that writes frames of HTTP/2 one by one, as no library would. */
export interface RawHttp2Server extends TestServer<Server> {
  /** All connections, oldest first. */
  readonly peers: readonly RawHttp2Connection[];
}

/**
 * @param onStream called when the headers of a request have arrived
 * @param options.settings whether it sends SETTINGS, as each server must; default: true
 */
export async function startRawHttp2Server(
  onStream: (connection: RawHttp2Connection, stream: number) => void,
  { settings = true } = {},
): Promise<RawHttp2Server> {
  const { cert, key } = await servingPair();
  const peers: RawHttp2Connection[] = [];
  const server = createServer({ cert, key, ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => {});
    if (settings) socket.write(frame(FRAME.settings, 0, Buffer.alloc(0)));
    const streams: number[] = [];
    const connection = { socket, streams, ...writers(socket) };
    peers.push(connection);
    readFrames(socket, (type, stream) => {
      if (type !== FRAME.headers) return;
      streams.push(stream);
      onStream(connection, stream);
    });
  });
  return Object.assign(await track(server, true), { peers });
}

function writers(socket: TLSSocket): Omit<RawHttp2Connection, 'socket' | 'streams'> {
  return {
    respond: (stream) => void socket.write(frame(FRAME.headers, stream, STATUS_200, END_HEADERS)),
    data: (stream, body) => void socket.write(frame(FRAME.data, stream, Buffer.from(body))),
    end: (stream) => void socket.write(frame(FRAME.data, stream, Buffer.alloc(0), END_STREAM)),
    reset: (stream, code) => void socket.write(frame(FRAME.rstStream, stream, uint32(code))),
    goaway: (last, code) =>
      void socket.write(frame(FRAME.goaway, 0, Buffer.concat([uint32(last), uint32(code)]))),
  };
}

/** RFC 9113 section 4.1. */
function frame(type: number, stream: number, payload: Buffer, flags = 0): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function readFrames(socket: TLSSocket, onFrame: (type: number, stream: number) => void): void {
  let rest = Buffer.alloc(0);
  let skip = PREFACE_BYTES;
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    if (rest.length < skip) return;
    rest = rest.subarray(skip);
    skip = 0;
    for (let size = sizeOf(rest); rest.length >= size; size = sizeOf(rest)) {
      onFrame(rest.readUInt8(3), rest.readUInt32BE(5));
      rest = rest.subarray(size);
    }
  });
}

/** Bytes of the first frame. More than there are, if even its head is not complete. */
function sizeOf(bytes: Buffer): number {
  return HEAD_BYTES + (bytes.length < HEAD_BYTES ? 0 : bytes.readUIntBE(0, 3));
}
