import type { Endpoint, EndpointState } from '../../../topology/decide/endpoint.ts';
import {
  addressFamily,
  endpointState,
  SERVICE_NAME_LABEL,
  ZONE_LABEL,
} from '../api-conventions.ts';
import type {
  EndpointsFacts,
  ObjectBytes,
  ObjectMeta,
  PartialObjectMetadata,
  ServiceFacts,
} from '../codec.ts';
import { assertElementCount } from '../element-limit.ts';
import { EndpointCache } from '../endpoint-cache.ts';
import { readPorts } from './addresses.ts';
import { array, bool, type Fields, fields, list, text } from './fields.ts';
import { parseObject } from './parse.ts';

/** Reads only the identity and version of an object. */
export function readMeta(object: ObjectBytes): ObjectMeta {
  return metaOf(parseObject(object));
}

/** Reads metadata with labels and annotations, which every kind has in the same place. */
export function readPartialMetadata(object: ObjectBytes): PartialObjectMetadata {
  return partialMetadataOf(parseObject(object));
}

/** Reads the facts of a Service that a decision needs. */
export function readService(object: ObjectBytes): ServiceFacts {
  const service = parseObject(object);
  const spec = fields(service, 'spec');
  return {
    ...partialMetadataOf(service),
    type: text(spec, 'type'),
    clusterIP: text(spec, 'clusterIP'),
    internalTrafficPolicy: text(spec, 'internalTrafficPolicy'),
    externalTrafficPolicy: text(spec, 'externalTrafficPolicy'),
    trafficDistribution: text(spec, 'trafficDistribution'),
  };
}

/** Creates a reader of the facts of an EndpointSlice that a decision needs. It caches endpoints. */
export function createSliceReader(): (object: ObjectBytes) => EndpointsFacts {
  const cache = new EndpointCache();
  return (object) => {
    const slice = parseObject(object);
    const meta = metaOf(slice);
    const family = text(slice, 'addressType');
    assertElementCount(array(slice, 'endpoints').length + array(slice, 'ports').length, meta);
    const endpoints = list(slice, 'endpoints');
    return {
      ...meta,
      service: text(fields(fields(slice, 'metadata'), 'labels'), SERVICE_NAME_LABEL),
      hinted: endpoints.some(({ hints }) => hints !== undefined && hints !== null),
      groups: [
        {
          ports: portKeys(slice),
          endpoints: endpoints.map((each) => sliceEndpoint(each, family, cache)),
        },
      ],
    };
  };
}

function sliceEndpoint(endpoint: Fields, family: string, cache: EndpointCache): Endpoint {
  const conditions = fields(endpoint, 'conditions');
  const state = endpointState(
    bool(conditions, 'ready'),
    bool(conditions, 'serving'),
    bool(conditions, 'terminating'),
  );
  const zone = text(endpoint, 'zone') || text(fields(endpoint, 'deprecatedTopology'), ZONE_LABEL);
  return cache.intern(family, text(endpoint, 'nodeName'), zone, state);
}

const SUBSET_LISTS = ['addresses', 'notReadyAddresses', 'ports'];

/** Creates a reader of the facts of an Endpoints object that a decision needs. It caches endpoints. */
export function createEndpointsReader(): (object: ObjectBytes) => EndpointsFacts {
  const cache = new EndpointCache();
  const read = (subset: Fields, key: string, state: EndpointState): Endpoint[] =>
    list(subset, key).map((address) =>
      cache.intern(addressFamily(text(address, 'ip')), text(address, 'nodeName'), '', state),
    );
  return (object) => {
    const endpoints = parseObject(object);
    const meta = metaOf(endpoints);
    const subsets = list(endpoints, 'subsets');
    const elements = (subset: Fields): number =>
      SUBSET_LISTS.reduce((sum, key) => sum + array(subset, key).length, 1);
    assertElementCount(
      subsets.reduce((sum, subset) => sum + elements(subset), 0),
      meta,
    );
    const groups = subsets.map((subset) => ({
      ports: portKeys(subset),
      endpoints: [
        ...read(subset, 'addresses', 'ready'),
        ...read(subset, 'notReadyAddresses', 'notReady'),
      ],
    }));
    return { ...meta, service: meta.name, hinted: false, groups };
  };
}

/** Keys of the ports of a slice or subset. kube-proxy ignores a port without a number, or with 0. */
function portKeys(object: Fields): string[] {
  const used = readPorts(object).filter((port) => port.number !== 0);
  return used.map(({ key }) => key);
}

function metaOf(object: Fields): ObjectMeta {
  const metadata = fields(object, 'metadata');
  return {
    namespace: text(metadata, 'namespace'),
    name: text(metadata, 'name'),
    uid: text(metadata, 'uid'),
    resourceVersion: text(metadata, 'resourceVersion'),
  };
}

function partialMetadataOf(object: Fields): PartialObjectMetadata {
  const metadata = fields(object, 'metadata');
  const texts = (key: string): Map<string, string> => {
    const map = fields(metadata, key);
    return new Map(Object.keys(map).map((each) => [each, text(map, each)]));
  };
  return { ...metaOf(object), labels: texts('labels'), annotations: texts('annotations') };
}
