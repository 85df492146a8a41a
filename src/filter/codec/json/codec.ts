import type { Codec } from '../codec.ts';
import { createWatchDecoder } from '../watch-decoder.ts';
import { readAddresses, readServiceAddresses } from './addresses.ts';
import { correctEndpoints } from './correct.ts';
import { decodeEvent, decodeList, decodeStatus } from './decode.ts';
import { semanticBytes, semanticBytesAfter, splice } from './edit.ts';
import {
  encodeBookmark,
  encodeErrorEvent,
  encodeEvent,
  encodeEventBuffers,
  encodeList,
  encodeObject,
  encodeStatus,
} from './encode.ts';
import {
  createEndpointsReader,
  createSliceReader,
  readMeta,
  readPartialMetadata,
  readService,
} from './facts.ts';
import { createLineSplitter } from './line-splitter.ts';

/** Creates the codec of `application/json`. Its only state is a cache of endpoints. */
export function createJsonCodec(): Codec {
  return {
    encoding: 'json',
    decodeList,
    watchDecoder: (maxFrameBytes) =>
      createWatchDecoder(createLineSplitter(maxFrameBytes), decodeEvent),
    decodeStatus,
    meta: readMeta,
    partialMetadata: readPartialMetadata,
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
