import type { PartialObjectMetadata, ServiceFacts } from './codec.ts';
import type { Cursor } from './cursor.ts';
import { readPartialMetadata } from './metadata.ts';
import { SERVICE, SERVICE_SPEC } from './schema.ts';

/** The facts of a Service that are in its spec. */
type SpecDraft = {
  -readonly [K in Exclude<keyof ServiceFacts, keyof PartialObjectMetadata>]: ServiceFacts[K];
};

/** Reads the facts of a Service that a decision needs. */
export function readService(service: Cursor): ServiceFacts {
  const draft: SpecDraft = {
    type: '',
    clusterIP: '',
    internalTrafficPolicy: '',
    externalTrafficPolicy: '',
    trafficDistribution: '',
  };
  const metadata = readPartialMetadata(service, (field) => {
    if (field.field === SERVICE.spec) readSpec(field.enter(), draft);
  });
  return { ...metadata, ...draft };
}

function readSpec(spec: Cursor, draft: SpecDraft): void {
  while (spec.next()) {
    switch (spec.field) {
      case SERVICE_SPEC.clusterIP:
        draft.clusterIP = spec.text();
        break;
      case SERVICE_SPEC.type:
        draft.type = spec.text();
        break;
      case SERVICE_SPEC.externalTrafficPolicy:
        draft.externalTrafficPolicy = spec.text();
        break;
      case SERVICE_SPEC.internalTrafficPolicy:
        draft.internalTrafficPolicy = spec.text();
        break;
      case SERVICE_SPEC.trafficDistribution:
        draft.trafficDistribution = spec.text();
        break;
    }
  }
}
