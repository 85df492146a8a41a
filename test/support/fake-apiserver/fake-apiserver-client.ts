import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { open, type RequestOptions } from '../http/http-client.ts';

/** A whole answer of an API server. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** The body as JSON; `any` for tests to look into. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape and assert what they find.
  json(): any;
}

/** Sends a request on a connection of its own and reads the whole answer. */
export async function sendRequest(url: string, options: RequestOptions = {}): Promise<Answer> {
  const { body: sent, headers } = options;
  // Node sends the body of a DELETE without its length.
  const length = sent === undefined ? {} : { 'content-length': Buffer.byteLength(sent) };
  const response = await open(url, { ...options, headers: { ...length, ...headers } });
  const body = Buffer.concat(await collect(response));
  const { statusCode = 0, headers: received } = response;
  return { status: statusCode, headers: received, body, json: () => JSON.parse(body.toString()) };
}

/** A watch event, parsed. */
export interface SeenEvent {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly object: any;
}

/** Opens a watch in JSON and reads its events one by one. */
export async function watch(url: string, headers: OutgoingHttpHeaders = {}, ca?: string) {
  const response = await open(url, { headers, ca });
  const events = jsonEvents(response);
  const next = async () => {
    const { value, done } = await events.next();
    return done === true ? undefined : value;
  };
  return {
    status: response.statusCode ?? 0,
    contentType: response.headers['content-type'] ?? '',
    /** The next event; undefined after the end of the stream. Rejects if the connection was cut. */
    next,
    /** All further events up to the end of the stream. */
    rest: () => collect(events),
    /** Closes the connection. */
    close: () => void response.destroy(),
  };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function* jsonEvents(stream: AsyncIterable<Buffer>): AsyncGenerator<SeenEvent, undefined> {
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line);
  }
  if (rest !== '') throw new Error(`the stream ended within an event: ${rest}`);
  return undefined;
}

/** Events as short texts: `ADDED edge-1`. A bookmark has no name; an error has its code. */
export function summarize(events: readonly (SeenEvent | undefined)[]): string[] {
  return events.map((event) => {
    if (event === undefined) return 'end';
    const { metadata, code } = event.object;
    return [event.type, metadata?.name ?? code].filter((part) => part !== undefined).join(' ');
  });
}

/** Splits a protobuf watch stream into frames, each with its event type and the kind of its object. */
export function protobufFrames(body: Buffer): { type: string; kind: string; frame: Buffer }[] {
  const frames = [];
  for (let at = 0; at < body.length; ) {
    const end = at + 4 + body.readUInt32BE(at);
    if (end > body.length) throw new Error('the stream ended within a frame');
    const fields = bytesFields(body.subarray(at + 4, end));
    const raw = bytesFields(fields.get(2) ?? Buffer.alloc(0)).get(1) ?? Buffer.alloc(0);
    const typeMeta = bytesFields(bytesFields(raw.subarray(4)).get(1) ?? Buffer.alloc(0));
    frames.push({
      type: String(fields.get(1)),
      kind: String(typeMeta.get(2)),
      frame: body.subarray(at, end),
    });
    at = end;
  }
  return frames;
}

/** The length-delimited fields of a message by number; only the last value of a repeated field. */
function bytesFields(message: Uint8Array): Map<number, Buffer> {
  const reader = new BinaryReader(message);
  const fields = new Map<number, Buffer>();
  while (reader.pos < reader.len) {
    const [number] = reader.tag();
    fields.set(number, Buffer.from(reader.bytes()));
  }
  return fields;
}
