import type { Codec, Encoding } from '../../filter/codec/codec.ts';
import { JsonCodec } from '../../filter/codec/json/json-codec.ts';
import { ProtobufCodec } from '../../filter/codec/protobuf/protobuf-codec.ts';

/** The codecs of this process. Their only state is caches of endpoints. */
export const CODECS: Readonly<Record<Encoding, Codec>> = {
  json: new JsonCodec(),
  protobuf: new ProtobufCodec(),
};
