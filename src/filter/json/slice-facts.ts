import type { Endpoint } from '../../topology/endpoint.ts';
import type { EndpointsFacts, ObjectBytes } from '../codec.ts';
import { EndpointCache } from '../endpoint-cache.ts';
import { endpointState, portKey, SERVICE_NAME_LABEL, ZONE_LABEL } from '../endpoint-facts.ts';
import { JsonReader } from './json-reader.ts';
import { readMetadata, readObject } from './metadata.ts';

/** An endpoint but for the family, which the slice tells. */
interface SliceEndpoint extends Omit<Endpoint, 'family'> {
  readonly hinted: boolean;
}

/** Creates a reader of what a decision needs of an EndpointSlice; it remembers endpoints. */
export function createSliceReader(): (object: ObjectBytes) => EndpointsFacts {
  const cache = new EndpointCache();
  return (object) => readEndpointSlice(object, cache);
}

function readEndpointSlice(object: ObjectBytes, cache: EndpointCache): EndpointsFacts {
  const reader = new JsonReader(object);
  let service = '';
  let family = '';
  let ports: string[] = [];
  let drafts: SliceEndpoint[] = [];
  const meta = readObject(
    reader,
    () => {
      if (reader.keyIs('endpoints')) drafts = readEndpoints(reader);
      else if (reader.keyIs('ports')) ports = readPorts(reader);
      else if (reader.keyIs('addressType')) family = reader.text();
    },
    () => {
      service = '';
      return readMetadata(reader, () => {
        if (reader.keyIs('labels')) service = readEntry(reader, SERVICE_NAME_LABEL);
      });
    },
  );
  const endpoints = drafts.map(({ node, zone, state }) => cache.of(family, node, zone, state));
  const hinted = drafts.some((draft) => draft.hinted);
  return { ...meta, service, hinted, groups: [{ ports, endpoints }] };
}

function readEndpoints(reader: JsonReader): SliceEndpoint[] {
  const endpoints: SliceEndpoint[] = [];
  reader.array(() => {
    endpoints.push(readEndpoint(reader));
  });
  return endpoints;
}

function readEndpoint(reader: JsonReader): SliceEndpoint {
  let node = '';
  let zone = '';
  let deprecatedZone = '';
  let hinted = false;
  let state = endpointState(undefined, undefined, undefined);
  reader.object(() => {
    if (reader.keyIs('conditions')) state = readConditions(reader);
    else if (reader.keyIs('nodeName')) node = reader.text();
    else if (reader.keyIs('zone')) zone = reader.text();
    else if (reader.keyIs('hints')) hinted = !reader.isNull();
    else if (reader.keyIs('deprecatedTopology')) deprecatedZone = readEntry(reader, ZONE_LABEL);
  });
  return { node, zone: zone === '' ? deprecatedZone : zone, hinted, state };
}

function readConditions(reader: JsonReader): Endpoint['state'] {
  let ready: boolean | undefined;
  let serving: boolean | undefined;
  let terminating: boolean | undefined;
  reader.object(() => {
    if (reader.keyIs('ready')) ready = reader.bool();
    else if (reader.keyIs('serving')) serving = reader.bool();
    else if (reader.keyIs('terminating')) terminating = reader.bool();
  });
  return endpointState(ready, serving, terminating);
}

/** Consumes a map of texts and returns the value of one key; empty when absent. */
function readEntry(reader: JsonReader, key: string): string {
  let value = '';
  reader.object(() => {
    if (reader.keyIs(key)) value = reader.text();
  });
  return value;
}

/** Consumes the ports of a slice or subset. One without a number, or with 0, is none, as for kube-proxy. */
export function readPorts(reader: JsonReader): string[] {
  const ports: string[] = [];
  reader.array(() => {
    let name = '';
    let protocol = '';
    let number = 0;
    reader.object(() => {
      if (reader.keyIs('name')) name = reader.text();
      else if (reader.keyIs('protocol')) protocol = reader.text();
      else if (reader.keyIs('port')) number = reader.number();
    });
    if (number !== 0) ports.push(portKey(protocol, name));
  });
  return ports;
}
