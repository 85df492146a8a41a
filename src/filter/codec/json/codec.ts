import type { Codec } from '../codec.ts';
import type { Format } from '../cursor.ts';
import { createObjectReader } from '../object-reader.ts';
import { createWatchDecoder } from '../watch-decoder.ts';
import { decodeEvent, decodeList, decodeStatus } from './decode.ts';
import {
  encodeBookmark,
  encodeErrorEvent,
  encodeEvent,
  encodeEventBuffers,
  encodeList,
  encodeMessage,
  encodeObject,
  encodeStatus,
} from './encode.ts';
import { JsonCursor } from './json-cursor.ts';
import { JsonEditor } from './json-editor.ts';
import { createLineSplitter } from './line-splitter.ts';

const FORMAT: Format = {
  cursor: (object, message) => JsonCursor.over(object, message),
  editor: (object) => new JsonEditor(object),
  encode: (_, value) => encodeMessage(value),
};

/** Creates the codec of `application/json`. Its only state is caches of names and endpoints. */
export function createJsonCodec(): Codec {
  return {
    ...createObjectReader(FORMAT),
    encoding: 'json',
    decodeList,
    watchDecoder: (maxFrameBytes) =>
      createWatchDecoder(createLineSplitter(maxFrameBytes), decodeEvent),
    decodeStatus,
    encodeList,
    encodeObject,
    encodeEvent,
    encodeEventBuffers,
    encodeBookmark,
    encodeErrorEvent,
    encodeStatus,
  };
}
