import type { Endpoint, EndpointGroup, EndpointState } from '../../../topology/decide/endpoint.ts';
import { assertElementCount } from '../bytes/element-limit.ts';
import type { EndpointsFacts } from '../codec.ts';
import type { Cursor } from '../cursor.ts';
import {
  addressFamily,
  DOMAIN_NAMES,
  endpointState,
  portKey,
  SERVICE_NAME_LABEL,
  ZONE_LABEL,
} from './api-conventions.ts';
import { EndpointCache } from './endpoint-cache.ts';
import { emptyMeta, readMetadata } from './metadata.ts';
import {
  ADDRESS,
  CONDITIONS,
  ENDPOINT,
  ENDPOINTS,
  METADATA,
  OBJECT_META,
  PORT,
  SLICE,
  SUBSET,
  SUBSET_PORT,
} from './schema.ts';
import { TextCache } from './text-cache.ts';

/**
 * Reads what a decision needs of EndpointSlices and Endpoints objects. It caches names and endpoints, so that equal
 * values of the objects of a list are stored once.
 */
export class EndpointsReader {
  readonly #texts = new TextCache();
  readonly #endpoints = new EndpointCache();

  /** Reads an EndpointSlice. */
  slice(slice: Cursor): EndpointsFacts {
    const meta = emptyMeta();
    let service = '';
    let family = '';
    let hinted = false;
    let elements = 0;
    const ports: string[] = [];
    const drafts: EndpointDraft[] = [];
    while (slice.next()) {
      switch (slice.field) {
        case METADATA:
          readMetadata(slice.enter(), meta, (field) => {
            if (field.field !== OBJECT_META.labels) return;
            service = field.mapValue(SERVICE_NAME_LABEL) ?? service;
          });
          break;
        case SLICE.endpoints: {
          assertElementCount(++elements, meta);
          const draft = this.#endpoint(slice.enter());
          hinted ||= draft.hinted;
          drafts.push(draft);
          break;
        }
        case SLICE.ports:
          assertElementCount(++elements, meta);
          addPortKey(slice.enter(), PORT, ports);
          break;
        case SLICE.addressType:
          family = slice.cachedText(this.#texts);
          break;
      }
    }
    if (family === DOMAIN_NAMES) return { ...meta, service, hinted: false, groups: [] };
    // The endpoints may precede the address type, which is part of each endpoint.
    const endpoints = drafts.map((draft) => {
      const zone = draft.zone === '' ? draft.deprecatedZone : draft.zone;
      const state = endpointState(draft.ready, draft.serving, draft.terminating);
      return this.#endpoints.intern(family, draft.node, zone, state);
    });
    return { ...meta, service, hinted, groups: [{ ports, endpoints }] };
  }

  /** Reads an Endpoints object. */
  endpoints(object: Cursor): EndpointsFacts {
    const meta = emptyMeta();
    const groups: EndpointGroup[] = [];
    let elements = 0;
    const onElement = (): void => assertElementCount(++elements, meta);
    while (object.next()) {
      if (object.field === METADATA) readMetadata(object.enter(), meta);
      if (object.field !== ENDPOINTS.subsets) continue;
      onElement();
      groups.push(this.#subset(object.enter(), onElement));
    }
    return { ...meta, service: meta.name, hinted: false, groups };
  }

  #endpoint(endpoint: Cursor): EndpointDraft {
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
          draft.deprecatedZone = endpoint.mapValue(ZONE_LABEL) ?? draft.deprecatedZone;
          break;
        case ENDPOINT.nodeName:
          draft.node = endpoint.cachedText(this.#texts);
          break;
        case ENDPOINT.zone:
          draft.zone = endpoint.cachedText(this.#texts);
          break;
        case ENDPOINT.hints:
          draft.hinted = true;
          break;
      }
    }
    return draft;
  }

  #subset(subset: Cursor, onElement: () => void): EndpointGroup {
    const ready: Endpoint[] = [];
    const notReady: Endpoint[] = [];
    const ports: string[] = [];
    while (subset.next()) {
      onElement();
      switch (subset.field) {
        case SUBSET.addresses:
          ready.push(this.#address(subset.enter(), 'ready'));
          break;
        case SUBSET.notReadyAddresses:
          notReady.push(this.#address(subset.enter(), 'notReady'));
          break;
        case SUBSET.ports:
          addPortKey(subset.enter(), SUBSET_PORT, ports);
          break;
      }
    }
    return { ports, endpoints: ready.concat(notReady) };
  }

  #address(address: Cursor, state: EndpointState): Endpoint {
    let ip = '';
    let node = '';
    while (address.next()) {
      if (address.field === ADDRESS.ip) ip = address.text();
      if (address.field === ADDRESS.nodeName) node = address.cachedText(this.#texts);
    }
    return this.#endpoints.intern(addressFamily(ip), node, '', state);
  }
}

interface EndpointDraft {
  ready: boolean | undefined;
  serving: boolean | undefined;
  terminating: boolean | undefined;
  node: string;
  zone: string;
  deprecatedZone: string;
  hinted: boolean;
}

/**
 * Reads a port and adds its key to `keys`. A port without a number, or with number 0, is skipped, because kube-proxy
 * ignores it (pkg/proxy/endpointslicecache.go).
 */
function addPortKey(port: Cursor, fields: typeof PORT | typeof SUBSET_PORT, keys: string[]): void {
  let name = '';
  let protocol = '';
  let number = 0;
  while (port.next()) {
    if (port.field === fields.name) name = port.text();
    else if (port.field === fields.protocol) protocol = port.text();
    else if (port.field === fields.port) number = port.number();
  }
  if (number !== 0) keys.push(portKey(protocol, name));
}

function readConditions(conditions: Cursor, draft: EndpointDraft): void {
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
