import type { Endpoint, EndpointGroup, EndpointState } from '../../topology/endpoint.ts';
import type { EndpointsFacts, ObjectBytes } from '../codec.ts';
import { EndpointCache } from '../endpoint-cache.ts';
import { addressFamily } from '../endpoint-facts.ts';
import { JsonReader } from './json-reader.ts';
import { readMetadata, readObject } from './metadata.ts';
import { readPorts } from './slice-facts.ts';

/** Creates a reader of what a decision needs of a core Endpoints object; it remembers endpoints. */
export function createEndpointsReader(): (object: ObjectBytes) => EndpointsFacts {
  const cache = new EndpointCache();
  return (object) => readEndpoints(object, cache);
}

function readEndpoints(object: ObjectBytes, cache: EndpointCache): EndpointsFacts {
  const reader = new JsonReader(object);
  let groups: EndpointGroup[] = [];
  const meta = readObject(
    reader,
    () => {
      if (reader.keyIs('subsets')) groups = readSubsets(reader, cache);
    },
    () => readMetadata(reader),
  );
  return { ...meta, service: meta.name, hinted: false, groups };
}

function readSubsets(reader: JsonReader, cache: EndpointCache): EndpointGroup[] {
  const groups: EndpointGroup[] = [];
  reader.array(() => {
    let ready: Endpoint[] = [];
    let notReady: Endpoint[] = [];
    let ports: string[] = [];
    reader.object(() => {
      if (reader.keyIs('addresses')) ready = readAddresses(reader, 'ready', cache);
      else if (reader.keyIs('notReadyAddresses'))
        notReady = readAddresses(reader, 'notReady', cache);
      else if (reader.keyIs('ports')) ports = readPorts(reader);
    });
    groups.push({ ports, endpoints: [...ready, ...notReady] });
  });
  return groups;
}

function readAddresses(reader: JsonReader, state: EndpointState, cache: EndpointCache): Endpoint[] {
  const endpoints: Endpoint[] = [];
  reader.array(() => {
    let ip = '';
    let node = '';
    reader.object(() => {
      if (reader.keyIs('ip')) ip = reader.text();
      else if (reader.keyIs('nodeName')) node = reader.text();
    });
    endpoints.push(cache.of(addressFamily(ip), node, '', state));
  });
  return endpoints;
}
