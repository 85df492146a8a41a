import { readMessage } from '../../objects/read-message.ts';
import { message, one, STATUS, text } from '../../objects/schema.ts';
import { readStatus } from '../../objects/status.ts';
import { BufferList } from '../bytes/buffer-list.ts';
import { malformed, objectTooLarge } from '../bytes/malformed.ts';
import type { RawEvent } from '../bytes/raw-objects.ts';
import { toEvent, WatchDecoder } from '../bytes/watch-decoder.ts';
import { JsonCursor } from './json-cursor.ts';
import { OPEN_OBJECT, scanJson } from './json-scanner.ts';
import { isBlank, isObject, parseObject, untypedJson } from './json-value.ts';

const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const EVENT = message({ type: text(0), object: one(0, message({ kind: text(0) })) });

/** Decodes a watch stream of JSON. An event is a line: a newline within a text of JSON is always escaped. */
export class JsonWatchDecoder extends WatchDecoder {
  readonly #maxFrameBytes: number;
  /** Whether the current line has more than white space. */
  #hasBegun = false;

  constructor(maxFrameBytes: number) {
    super();
    this.#maxFrameBytes = maxFrameBytes;
  }

  protected frameLength(bytes: Buffer, received: number, offset: number): number | undefined {
    const newline = bytes.indexOf(NEWLINE);
    const end = newline < 0 ? bytes.length : newline;
    this.#assertText(bytes, end, offset + received);
    const size = received + end;
    if (size > this.#maxFrameBytes) {
      const what = `a watch event of at least ${size} bytes at offset ${offset}`;
      throw objectTooLarge(what, this.#maxFrameBytes);
    }
    return newline < 0 ? undefined : newline + 1;
  }

  protected decode(line: Buffer, offset: number): RawEvent | undefined {
    this.#hasBegun = false;
    if (isBlank(line)) return undefined;
    scanJson(new BufferList([line]), offset);
    const event = parseObject(line, offset);
    const { type, object } = readMessage(JsonCursor.over(event, EVENT, offset), EVENT);
    if (!isObject(event.object)) throw malformed('a watch event without an object', offset);
    const status =
      object.kind === 'Status'
        ? readStatus(JsonCursor.over(event.object, STATUS, offset))
        : undefined;
    return toEvent(type, untypedJson(event.object), status, offset);
  }

  protected hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** JSON has no control characters but white space, and an event begins with a brace. */
  #assertText(bytes: Buffer, end: number, offset: number): void {
    for (let at = 0; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === SPACE || byte === TAB || byte === RETURN) continue;
      if (byte < SPACE) throw malformed('a watch event that is not JSON', offset + at);
      if (this.#hasBegun) continue;
      if (byte !== OPEN_OBJECT) throw malformed('a line that is not a watch event', offset + at);
      this.#hasBegun = true;
    }
  }
}
