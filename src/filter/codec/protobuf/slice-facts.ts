import { endpointState, SERVICE_NAME_LABEL, ZONE_LABEL } from '../api-conventions.ts';
import type { EndpointsFacts, ObjectBytes } from '../codec.ts';
import { assertElementCount } from '../element-limit.ts';
import { EndpointCache } from '../endpoint-cache.ts';
import { FieldCursor } from './field-cursor.ts';
import { emptyMeta, entryValue, METADATA, OBJECT_META, readMetadata } from './metadata.ts';
import { addPortKey, SLICE_PORT } from './port.ts';
import { TextCache } from './text-cache.ts';

/** Fields of EndpointSlice (k8s.io/api discovery/v1/generated.proto). */
export const SLICE = { endpoints: 2, ports: 3, addressType: 4 } as const;
/** Fields of an endpoint of a slice. */
export const ENDPOINT = {
  addresses: 1,
  conditions: 2,
  targetRef: 4,
  deprecatedTopology: 5,
  nodeName: 6,
  zone: 7,
  hints: 8,
} as const;
/** Fields of its conditions. */
export const CONDITIONS = { ready: 1, serving: 2, terminating: 3 } as const;

/**
 * Creates a reader of the facts of an EndpointSlice that a decision needs. It caches names and endpoints, so that equal
 * values of the slices of a list are stored once.
 */
export function createSliceReader(): (object: ObjectBytes) => EndpointsFacts {
  const caches: Caches = { texts: new TextCache(), endpoints: new EndpointCache() };
  return (object) => readEndpointSlice(object, caches);
}

interface Caches {
  readonly texts: TextCache;
  readonly endpoints: EndpointCache;
}

function readEndpointSlice(object: ObjectBytes, caches: Caches): EndpointsFacts {
  const meta = emptyMeta();
  let service = '';
  let family = '';
  let hinted = false;
  let elements = 0;
  const ports: string[] = [];
  const drafts: EndpointDraft[] = [];
  const fields = FieldCursor.over(object);
  while (fields.next()) {
    switch (fields.field) {
      case METADATA:
        readMetadata(fields.enter(), meta, (field) => {
          if (field.field !== OBJECT_META.labels) return;
          service = entryValue(field.enter(), SERVICE_NAME_LABEL) ?? service;
        });
        break;
      case SLICE.endpoints: {
        assertElementCount(++elements, meta);
        const draft = readEndpoint(fields.enter(), caches.texts);
        hinted ||= draft.hinted;
        drafts.push(draft);
        break;
      }
      case SLICE.ports:
        assertElementCount(++elements, meta);
        addPortKey(fields.enter(), SLICE_PORT, ports);
        break;
      case SLICE.addressType:
        family = fields.cachedText(caches.texts);
        break;
    }
  }
  // On the wire the endpoints precede the address type, which is part of each endpoint.
  const endpoints = drafts.map((draft) => {
    const zone = draft.zone === '' ? draft.deprecatedZone : draft.zone;
    const state = endpointState(draft.ready, draft.serving, draft.terminating);
    return caches.endpoints.intern(family, draft.node, zone, state);
  });
  return { ...meta, service, hinted, groups: [{ ports, endpoints }] };
}

interface EndpointDraft {
  node: string;
  zone: string;
  deprecatedZone: string;
  hinted: boolean;
  ready: boolean | undefined;
  serving: boolean | undefined;
  terminating: boolean | undefined;
}

function readEndpoint(endpoint: FieldCursor, texts: TextCache): EndpointDraft {
  const draft: EndpointDraft = {
    node: '',
    zone: '',
    deprecatedZone: '',
    hinted: false,
    ready: undefined,
    serving: undefined,
    terminating: undefined,
  };
  while (endpoint.next()) {
    switch (endpoint.field) {
      case ENDPOINT.conditions:
        readConditions(endpoint.enter(), draft);
        break;
      case ENDPOINT.deprecatedTopology:
        draft.deprecatedZone = entryValue(endpoint.enter(), ZONE_LABEL) ?? draft.deprecatedZone;
        break;
      case ENDPOINT.nodeName:
        draft.node = endpoint.cachedText(texts);
        break;
      case ENDPOINT.zone:
        draft.zone = endpoint.cachedText(texts);
        break;
      case ENDPOINT.hints:
        draft.hinted = true;
        break;
    }
  }
  return draft;
}

function readConditions(conditions: FieldCursor, draft: EndpointDraft): void {
  while (conditions.next()) {
    switch (conditions.field) {
      case CONDITIONS.ready:
        draft.ready = conditions.bool();
        break;
      case CONDITIONS.serving:
        draft.serving = conditions.bool();
        break;
      case CONDITIONS.terminating:
        draft.terminating = conditions.bool();
        break;
    }
  }
}
