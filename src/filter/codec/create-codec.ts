import type { Status } from '../../errors.ts';
import type { Codec, ObjectBytes } from './codec.ts';
import {
  readServiceAddresses,
  readSliceAddresses,
  readSubsetAddresses,
} from './facts/addresses.ts';
import { portKey } from './facts/api-conventions.ts';
import { editObject } from './facts/edit.ts';
import { EndpointsReader } from './facts/endpoints-facts.ts';
import { readMeta } from './facts/metadata.ts';
import { readSlicePods, readSubsetPods } from './facts/pod-endpoint.ts';
import { readMessage } from './facts/read-message.ts';
import { ENDPOINTS as ENDPOINTS_RESOURCE, type Resource } from './facts/resource.ts';
import {
  ENDPOINTS,
  LABELLED_OBJECT,
  OBJECT,
  SERVICE,
  SERVICE_FACTS,
  SLICE,
  STATUS,
} from './facts/schema.ts';
import { statusValue } from './facts/status.ts';
import type { Format } from './format.ts';

/** Objects of kind Status, which are in no collection. */
const STATUS_RESOURCE: Resource = {
  group: '',
  version: 'v1',
  plural: '',
  kind: 'Status',
  namespaced: false,
};

/** Creates the codec of an encoding. Its only state is caches of names and endpoints. */
export function createCodec(format: Format): Codec {
  const reader = new EndpointsReader();
  const isEndpoints = ({ kind }: Resource) => kind === ENDPOINTS_RESOURCE.kind;
  const slice = (object: ObjectBytes) => format.cursor(object, SLICE);
  const endpoints = (object: ObjectBytes) => format.cursor(object, ENDPOINTS);
  const statusBytes = (status: Status) => format.encode(STATUS, statusValue(status));
  return {
    encoding: format.encoding,
    decodeList: format.decodeList,
    watchDecoder: format.watchDecoder,
    decodeStatus: format.decodeStatus,
    meta: (object) => readMeta(format.cursor(object, OBJECT)),
    partialMetadata: (object) =>
      readMessage(format.cursor(object, LABELLED_OBJECT), LABELLED_OBJECT).metadata,
    service: (object) => {
      const { metadata, spec } = readMessage(format.cursor(object, SERVICE_FACTS), SERVICE_FACTS);
      const ports = spec.ports.map(({ protocol, name }) => portKey(protocol, name));
      return { ...metadata, ...spec, ports };
    },
    endpointSlice: (object) => reader.slice(slice(object)),
    endpoints: (object) => reader.endpoints(endpoints(object)),
    addresses: (resource, object) =>
      isEndpoints(resource)
        ? readSubsetAddresses(endpoints(object))
        : readSliceAddresses(slice(object)),
    serviceAddresses: (object) => readServiceAddresses(format.cursor(object, SERVICE)),
    podEndpoints: (resource, object, node) =>
      isEndpoints(resource)
        ? readSubsetPods(endpoints(object), node)
        : readSlicePods(slice(object), node),
    edit: (resource, object, edit) => editObject(format, resource, object, edit),
    encodeList: format.encodeList,
    encodeObject: format.encodeObject,
    encodeEvent: format.encodeEvent,
    encodeBookmark: (resource, resourceVersion, initialEventsEnd) => {
      const object = format.bookmark(resource, resourceVersion, initialEventsEnd);
      return Buffer.concat(format.encodeEvent(resource, 'BOOKMARK', object));
    },
    encodeErrorEvent: (status) =>
      Buffer.concat(format.encodeEvent(STATUS_RESOURCE, 'ERROR', statusBytes(status))),
    encodeStatus: (status) =>
      Buffer.concat(format.encodeObject(STATUS_RESOURCE, statusBytes(status))),
  };
}
