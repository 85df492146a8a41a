import { LengthPrefixSplitter } from '../bytes/length-prefix-splitter.ts';
import { createWatchDecoder } from '../bytes/watch-decoder.ts';
import type { Codec } from '../codec.ts';
import { createCodec } from '../create-codec.ts';
import { decodeEvent, decodeList, decodeStatus } from './decode.ts';
import { encodeBookmark, encodeEvent, encodeList, encodeObject } from './encode.ts';
import { FieldCursor } from './field-cursor.ts';
import { encodeMessage } from './message.ts';
import { ProtobufEditor } from './protobuf-editor.ts';

/** Creates the codec of `application/vnd.kubernetes.protobuf`. */
export function createProtobufCodec(): Codec {
  return createCodec({
    encoding: 'protobuf',
    cursor: (object, message) => FieldCursor.over(object, message),
    editor: (object) => new ProtobufEditor(object),
    encode: encodeMessage,
    decodeList,
    watchDecoder: (maxFrameBytes) =>
      createWatchDecoder(new LengthPrefixSplitter(maxFrameBytes), decodeEvent),
    decodeStatus,
    encodeList,
    encodeObject,
    encodeEvent,
    bookmark: encodeBookmark,
  });
}
