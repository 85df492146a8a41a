import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BinaryReader } from '@bufbuild/protobuf/wire';

/** A whole answer of an API server. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** The body as JSON; `any` for tests to look into. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape and assert what they find.
  json(): any;
}

/** What a request carries besides its URL. */
export interface RequestOptions {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  readonly signal?: AbortSignal;
  /** PEM of the authority of an https server. */
  readonly ca?: string | undefined;
}

/** Sends a request on a connection of its own and reads the whole answer. */
export async function sendRequest(url: string, options: RequestOptions = {}): Promise<Answer> {
  const response = await open(url, options);
  const body = Buffer.concat(await collect(response));
  const { statusCode = 0, headers } = response;
  return { status: statusCode, headers, body, json: () => JSON.parse(body.toString()) };
}

/** Sends a request and resolves once the answer's headers have arrived. The result is the stream of its body. */
export async function open(url: string, options: RequestOptions = {}): Promise<IncomingMessage> {
  const { method = 'GET', headers = {}, body, signal, ca } = options;
  const send = url.startsWith('https:') ? httpsRequest : httpRequest;
  const request = send(url, {
    method,
    // Node sends the body of a DELETE without its length.
    headers:
      body === undefined ? headers : { 'content-length': Buffer.byteLength(body), ...headers },
    agent: false,
    ca,
    ...(signal === undefined ? {} : { signal }),
  });
  request.end(body);
  const [response] = await once(request, 'response');
  return response;
}

/** A watch event, parsed. */
export interface SeenEvent {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly object: any;
}

/** An open watch in JSON. */
export interface OpenedWatch {
  readonly status: number;
  readonly contentType: string;
  /** The next event; undefined after the end of the stream. Rejects if the connection was cut. */
  next(): Promise<SeenEvent | undefined>;
  /** All further events up to the end of the stream. */
  rest(): Promise<SeenEvent[]>;
  /** Closes the connection. */
  close(): void;
}

/** Opens a watch in JSON and reads its events one by one. */
export async function watch(
  url: string,
  headers: OutgoingHttpHeaders = {},
  ca?: string,
): Promise<OpenedWatch> {
  const response = await open(url, { headers, ca });
  const events = jsonEvents(response);
  const next = async () => {
    const { value, done } = await events.next();
    return done === true ? undefined : value;
  };
  return {
    status: response.statusCode ?? 0,
    contentType: response.headers['content-type'] ?? '',
    next,
    rest: () => collect(events),
    close: () => response.destroy(),
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
