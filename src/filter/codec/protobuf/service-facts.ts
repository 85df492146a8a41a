import type { ObjectBytes, ServiceFacts } from '../codec.ts';
import type { FieldCursor } from './field-cursor.ts';
import { readLabelled } from './metadata.ts';

/** Fields of Service and ServiceSpec (k8s.io/api core/v1/generated.proto). */
const SPEC = 2;
const SERVICE_SPEC = {
  clusterIP: 3,
  type: 4,
  externalTrafficPolicy: 11,
  internalTrafficPolicy: 22,
} as const;

/** What of a Service is not in its metadata. */
type SpecDraft = {
  -readonly [K in keyof typeof SERVICE_SPEC]: string;
};

/** Reads what a decision needs of a Service. */
export function readService(object: ObjectBytes): ServiceFacts {
  const draft: SpecDraft = {
    type: '',
    clusterIP: '',
    internalTrafficPolicy: '',
    externalTrafficPolicy: '',
  };
  const labelled = readLabelled(object, (field) => {
    if (field.field === SPEC) readSpec(field.enter(), draft);
  });
  return { ...labelled, ...draft };
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
    }
  }
}
