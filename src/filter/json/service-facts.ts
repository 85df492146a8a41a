import type { ObjectBytes, ServiceFacts } from '../codec.ts';
import type { JsonReader } from './json-reader.ts';
import { readLabelled } from './metadata.ts';

/** What of a Service is not in its metadata. */
type ServiceSpec = Pick<
  ServiceFacts,
  'type' | 'clusterIP' | 'internalTrafficPolicy' | 'externalTrafficPolicy'
>;

/** Reads what a decision needs of a Service. */
export function readService(object: ObjectBytes): ServiceFacts {
  let spec: ServiceSpec = {
    type: '',
    clusterIP: '',
    internalTrafficPolicy: '',
    externalTrafficPolicy: '',
  };
  const labelled = readLabelled(object, (reader) => {
    if (reader.keyIs('spec')) spec = readSpec(reader);
  });
  return { ...labelled, ...spec };
}

function readSpec(reader: JsonReader): ServiceSpec {
  const spec = { type: '', clusterIP: '', internalTrafficPolicy: '', externalTrafficPolicy: '' };
  reader.object(() => {
    if (reader.keyIs('type')) spec.type = reader.text();
    else if (reader.keyIs('clusterIP')) spec.clusterIP = reader.text();
    else if (reader.keyIs('internalTrafficPolicy')) spec.internalTrafficPolicy = reader.text();
    else if (reader.keyIs('externalTrafficPolicy')) spec.externalTrafficPolicy = reader.text();
  });
  return spec;
}
