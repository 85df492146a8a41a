import { LineSplitter } from '../bytes/line-splitter.ts';
import { createWatchDecoder } from '../bytes/watch-decoder.ts';
import type { Codec } from '../codec.ts';
import { createCodec } from '../create-codec.ts';
import { TABLE } from '../facts/schema.ts';
import { decodeEvent, decodeList, decodeStatus } from './decode.ts';
import { encodeBookmark, encodeEvent, encodeList, encodeMessage, encodeObject } from './encode.ts';
import { JsonCursor } from './json-cursor.ts';
import { JsonEditor } from './json-editor.ts';
import { parseObject } from './json-value.ts';

/** Creates the codec of `application/json`. */
export function createJsonCodec(): Codec {
  return createCodec({
    encoding: 'json',
    cursor: (object, message) => new JsonCursor(parseObject(object, 0), message[TABLE], 0),
    editor: (object) => new JsonEditor(object),
    encode: (_, value) => encodeMessage(value),
    decodeList,
    watchDecoder: (maxFrameBytes) =>
      createWatchDecoder(new LineSplitter(maxFrameBytes), decodeEvent),
    decodeStatus,
    encodeList,
    encodeObject,
    encodeEvent,
    bookmark: encodeBookmark,
  });
}
