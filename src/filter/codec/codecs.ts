import type { Codecs } from './codec.ts';
import { createJsonCodec } from './json/json-codec.ts';
import { createProtobufCodec } from './protobuf/protobuf-codec.ts';

/** The codecs of this process. Their only state is caches of names and endpoints. */
export const CODECS: Codecs = { json: createJsonCodec(), protobuf: createProtobufCodec() };
