import type { Codec } from '../codec.ts';
import { createWatchDecoder } from '../watch-decoder.ts';
import { readAddresses, readServiceAddresses } from './addresses.ts';
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
import { readLabelled, readMeta } from './metadata.ts';
import { readService } from './service-facts.ts';
import { significant } from './significant.ts';
import { createSliceReader } from './slice-facts.ts';
import { significantAfter, splice } from './splice.ts';

/** The codec of `application/vnd.kubernetes.protobuf`. It holds no state but the names and endpoints that it remembers. */
export function createProtobufCodec(): Codec {
  return {
    encoding: 'protobuf',
    decodeList,
    watchDecoder: (maxFrameBytes) =>
      createWatchDecoder(createFrameSplitter(maxFrameBytes), decodeEvent),
    decodeStatus,
    meta: readMeta,
    partialMetadata: (object) => readLabelled(object),
    service: readService,
    endpointSlice: createSliceReader(),
    endpoints: createEndpointsReader(),
    addresses: readAddresses,
    serviceAddresses: readServiceAddresses,
    splice,
    semanticBytes: significant,
    significantAfter,
    encodeList,
    encodeObject,
    encodeEvent,
    encodeEventBuffers: encodeEventBuffers,
    encodeBookmark,
    encodeErrorEvent,
    encodeStatus,
  };
}
