import { readSliceAddresses, readSubsetAddresses } from './addresses.ts';
import type { ObjectBytes, ObjectReader } from './codec.ts';
import type { Format } from './cursor.ts';
import { editObject } from './edit.ts';
import { EndpointsReader } from './endpoints-facts.ts';
import { readMeta, readPartialMetadata } from './metadata.ts';
import { readSlicePods, readSubsetPods } from './pod-endpoint.ts';
import { ENDPOINTS as ENDPOINTS_RESOURCE, type Resource } from './resource.ts';
import { ENDPOINTS, OBJECT, SERVICE, SLICE } from './schema.ts';
import { readService, readServiceAddresses } from './service-facts.ts';

/** The part of a codec that is the same for both encodings. Its only state is caches of names and endpoints. */
export function createObjectReader(format: Format): ObjectReader {
  const reader = new EndpointsReader();
  const isEndpoints = ({ kind }: Resource) => kind === ENDPOINTS_RESOURCE.kind;
  const slice = (object: ObjectBytes) => format.cursor(object, SLICE);
  const endpoints = (object: ObjectBytes) => format.cursor(object, ENDPOINTS);
  return {
    meta: (object) => readMeta(format.cursor(object, OBJECT)),
    partialMetadata: (object) => readPartialMetadata(format.cursor(object, OBJECT)),
    service: (object) => readService(format.cursor(object, SERVICE)),
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
  };
}
