import { BinaryReader } from '@bufbuild/protobuf/wire';

/** How a body is encoded, by its Content-Type or the Accept header. */
export function encodingOf(type: string): 'json' | 'protobuf' {
  return type.includes('protobuf') ? 'protobuf' : 'json';
}

/** One event of a watch, as it is on the wire. */
export interface WatchFrame {
  readonly type: string;
  readonly bytes: Buffer;
}

/** Cuts the body of a watch into its events. What does not end is dropped. */
export async function* readFrames(
  body: AsyncIterable<Buffer>,
  encoding: 'json' | 'protobuf',
): AsyncGenerator<WatchFrame, void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      const length = encoding === 'json' ? rest.indexOf(0x0a) + 1 : protobufLength(rest);
      if (length === 0 || rest.length < length) break;
      const bytes = rest.subarray(0, length);
      rest = rest.subarray(length);
      yield { type: typeOf(bytes, encoding), bytes };
    }
  }
}

function protobufLength(bytes: Buffer): number {
  return bytes.length < 4 ? 0 : 4 + bytes.readUInt32BE(0);
}

function typeOf(bytes: Buffer, encoding: 'json' | 'protobuf'): string {
  if (encoding === 'json') return (JSON.parse(bytes.toString()) as { type: string }).type;
  const reader = new BinaryReader(bytes.subarray(4));
  reader.tag();
  return reader.string();
}
