import type { Codec } from '../codec.ts';
import type { Format } from '../cursor.ts';
import { createObjectReader } from '../object-reader.ts';
import { createWatchDecoder } from '../watch-decoder.ts';
import { decodeEvent, decodeList, decodeStatus } from './decode.ts';
import { ProtobufEditor } from './editor.ts';
import {
  encodeBookmark,
  encodeErrorEvent,
  encodeEvent,
  encodeEventBuffers,
  encodeList,
  encodeObject,
  encodeStatus,
} from './encode.ts';
import { FieldCursor } from './field-cursor.ts';
import { createFrameSplitter } from './frame-splitter.ts';
import { encodeMessage } from './message.ts';

const FORMAT: Format = {
  cursor: (object, message) => FieldCursor.over(object, message),
  editor: (object) => new ProtobufEditor(object),
  encode: encodeMessage,
};

/** Creates the codec of `application/vnd.kubernetes.protobuf`. Its only state is caches of names and endpoints. */
export function createProtobufCodec(): Codec {
  return {
    ...createObjectReader(FORMAT),
    encoding: 'protobuf',
    decodeList,
    watchDecoder: (maxFrameBytes) =>
      createWatchDecoder(createFrameSplitter(maxFrameBytes), decodeEvent),
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
