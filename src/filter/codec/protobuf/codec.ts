import type { Codec } from '../codec.ts';
import { createWatchDecoder } from '../watch-decoder.ts';
import { readAddresses, readServiceAddresses } from './addresses.ts';
import { correctEndpoints } from './correct.ts';
import { decodeEvent, decodeList, decodeStatus } from './decode.ts';
import {
  encodeBookmark,
  encodeErrorEvent,
  encodeEvent,
  encodeEventBuffers,
  encodeList,
  encodeObject,
  encodeStatus,
} from './encode.ts';
import { createEndpointsReader } from './endpoints-facts.ts';
import { createFrameSplitter } from './frame-splitter.ts';
import { readMeta, readPartialMetadata } from './metadata.ts';
import { semanticBytes } from './semantic-bytes.ts';
import { readService } from './service-facts.ts';
import { createSliceReader } from './slice-facts.ts';
import { semanticBytesAfter, splice } from './splice.ts';

/** Creates the codec of `application/vnd.kubernetes.protobuf`. Its only state is caches of names and endpoints. */
export function createProtobufCodec(): Codec {
  return {
    encoding: 'protobuf',
    decodeList,
    watchDecoder: (maxFrameBytes) =>
      createWatchDecoder(createFrameSplitter(maxFrameBytes), decodeEvent),
    decodeStatus,
    meta: readMeta,
    partialMetadata: (object) => readPartialMetadata(object),
    service: readService,
    endpointSlice: createSliceReader(),
    endpoints: createEndpointsReader(),
    addresses: readAddresses,
    serviceAddresses: readServiceAddresses,
    splice,
    correctEndpoints,
    semanticBytes,
    semanticBytesAfter,
    encodeList,
    encodeObject,
    encodeEvent,
    encodeEventBuffers,
    encodeBookmark,
    encodeErrorEvent,
    encodeStatus,
  };
}
