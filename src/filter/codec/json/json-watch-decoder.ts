import { malformed, objectTooLarge } from '../bytes/malformed.ts';
import type { RawEvent } from '../bytes/raw-objects.ts';
import { toEvent, WatchDecoder } from '../bytes/watch-decoder.ts';
import { readMessage } from '../facts/read-message.ts';
import { message, one, STATUS, text } from '../facts/schema.ts';
import { readStatus } from '../facts/status.ts';
import { JsonCursor } from './json-cursor.ts';
import { scanJson } from './json-scanner.ts';
import { isBlank, isObject, parseObject, untypedJson } from './json-value.ts';

const NEWLINE = 0x0a;
const EVENT = message({ type: text(0), object: one(0, message({ kind: text(0) })) });

/** Decodes a watch stream of JSON. An event is a line: a newline within a text of JSON is always escaped. */
export class JsonWatchDecoder extends WatchDecoder {
  readonly #maxFrameBytes: number;

  constructor(maxFrameBytes: number) {
    super();
    this.#maxFrameBytes = maxFrameBytes;
  }

  protected frameLength(bytes: Buffer, received: number, offset: number): number | undefined {
    const newline = bytes.indexOf(NEWLINE);
    const size = received + (newline < 0 ? bytes.length : newline);
    if (size > this.#maxFrameBytes) {
      const what = `a watch event of at least ${size} bytes at offset ${offset}`;
      throw objectTooLarge(what, this.#maxFrameBytes);
    }
    return newline < 0 ? undefined : newline + 1;
  }

  protected decode(line: Buffer, offset: number): RawEvent | undefined {
    if (isBlank(line)) return undefined;
    scanJson(line, offset);
    const event = parseObject(line, offset);
    const { type, object } = readMessage(JsonCursor.over(event, EVENT, offset), EVENT);
    if (!isObject(event.object)) throw malformed('a watch event without an object', offset);
    const status =
      object.kind === 'Status'
        ? readStatus(JsonCursor.over(event.object, STATUS, offset))
        : undefined;
    return toEvent(type, untypedJson(event.object), status, offset);
  }

  protected isComplete(rest: Buffer): boolean {
    return isBlank(rest);
  }
}
