import type { Status } from '../../errors.ts';
import { MAX_ELEMENTS, tooManyElements } from './bytes/element-limit.ts';
import type { Codec, ObjectBytes } from './codec.ts';
import { groupAddresses, serviceAddresses } from './facts/addresses.ts';
import { portKey } from './facts/api-conventions.ts';
import { editObject } from './facts/edit.ts';
import { EndpointCache } from './facts/endpoint-cache.ts';
import { sliceGroups, subsetGroups } from './facts/endpoint-groups.ts';
import { endpointsFacts, sliceFacts } from './facts/endpoints-facts.ts';
import { podEndpoints } from './facts/pod-endpoint.ts';
import { readMessage } from './facts/read-message.ts';
import { ENDPOINTS as ENDPOINTS_RESOURCE, type Resource } from './facts/resource.ts';
import {
  ENDPOINTS,
  ENDPOINTS_FACTS,
  IDENTIFIED_OBJECT,
  LABELLED_OBJECT,
  type Message,
  SERVICE,
  SERVICE_FACTS,
  SLICE,
  SLICE_FACTS,
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
  const cache = new EndpointCache();
  const meta = (object: ObjectBytes) => read(object, IDENTIFIED_OBJECT).metadata;
  const read = <Values>(object: ObjectBytes, message: Message<Values>): Values => {
    let elements = 0;
    return readMessage(format.cursor(object, message), message, () => {
      if (++elements > MAX_ELEMENTS) throw tooManyElements(meta(object));
    });
  };
  const groups = ({ kind }: Resource, object: ObjectBytes) =>
    kind === ENDPOINTS_RESOURCE.kind
      ? subsetGroups(read(object, ENDPOINTS))
      : sliceGroups(read(object, SLICE));
  const statusBytes = (status: Status) => format.encode(STATUS, statusValue(status));
  return {
    encoding: format.encoding,
    decodeList: format.decodeList,
    watchDecoder: format.watchDecoder,
    decodeStatus: format.decodeStatus,
    meta,
    partialMetadata: (object) => read(object, LABELLED_OBJECT).metadata,
    service: (object) => {
      const { metadata, spec } = read(object, SERVICE_FACTS);
      return { ...metadata, ...spec, ports: spec.ports.map(portKey) };
    },
    endpointSlice: (object) => sliceFacts(read(object, SLICE_FACTS), cache),
    endpoints: (object) => endpointsFacts(read(object, ENDPOINTS_FACTS), cache),
    addresses: (resource, object) => groups(resource, object).map(groupAddresses),
    serviceAddresses: (object) => serviceAddresses(read(object, SERVICE)),
    podEndpoints: (resource, object, node) => podEndpoints(groups(resource, object), node),
    edit: (resource, object, edit) => editObject(format.editor(object), resource, edit),
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
