import type { Codec } from '../codec.ts';
import { createWatchDecoder } from '../watch-decoder.ts';
import { readAddresses, readServiceAddresses } from './addresses.ts';
import { decodeEvent, decodeList, decodeStatus } from './decode.ts';
import { significant, significantAfter, splice } from './edit.ts';
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
  readLabelled,
  readMeta,
  readService,
} from './facts.ts';
import { createLineSplitter } from './line-splitter.ts';

/** The codec of `application/json`. It holds no state but the endpoints that it remembers. */
export function createJsonCodec(): Codec {
  return {
    encoding: 'json',
    decodeList,
    watchDecoder: (maxFrameBytes) =>
      createWatchDecoder(createLineSplitter(maxFrameBytes), decodeEvent),
    decodeStatus,
    meta: readMeta,
    partialMetadata: readLabelled,
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
