import type { ObjectBytes, ServiceFacts } from '../codec.ts';
import type { FieldCursor } from './field-cursor.ts';
import { readPartialMetadata } from './metadata.ts';

/** Fields of Service and ServiceSpec (k8s.io/api core/v1/generated.proto). */
const SPEC = 2;
const SERVICE_SPEC = {
  clusterIP: 3,
  type: 4,
  externalTrafficPolicy: 11,
  internalTrafficPolicy: 22,
  trafficDistribution: 23,
} as const;

/** The facts of a Service that are in its spec. */
type SpecDraft = {
  -readonly [K in keyof typeof SERVICE_SPEC]: string;
};

/** Reads the facts of a Service that a decision needs. */
export function readService(object: ObjectBytes): ServiceFacts {
  const draft: SpecDraft = {
    type: '',
    clusterIP: '',
    internalTrafficPolicy: '',
    externalTrafficPolicy: '',
    trafficDistribution: '',
  };
  const metadata = readPartialMetadata(object, (field) => {
    if (field.field === SPEC) readSpec(field.enter(), draft);
  });
  return { ...metadata, ...draft };
}

function readSpec(spec: FieldCursor, draft: SpecDraft): void {
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
