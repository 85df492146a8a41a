import fc from 'fast-check';
import { OWN_NODE } from './projection-harness.ts';

export const SERVICES = ['default/web', 'default/db'] as const;
export const NODES = [OWN_NODE, 'edge-2', 'edge-3', 'cloud-1'] as const;
export const ZONE = 'topology.kubernetes.io/zone';
/** Values of the annotation topologyKeys; null: no annotation. */
export const ANNOTATIONS = [
  null,
  '["kubernetes.io/hostname","*"]',
  '["kubernetes.io/hostname","site","*"]',
  '["site"]',
  `["${ZONE}","*"]`,
  `["site","${ZONE}"]`,
  '[]',
  'invalid',
] as const;

interface ModelEndpoint {
  readonly address: number;
  readonly node: string;
  readonly zone: string;
  readonly state: number;
}

/**
 * One change of the cluster. Node sets that it makes necessary are answered only by `sync`. Node sets that no policy
 * needs any more are closed by `minute`.
 */
export type Step =
  | { kind: 'object'; service: number; slice: number; endpoints: ModelEndpoint[]; port: string }
  | { kind: 'delete'; service: number; slice: number }
  | { kind: 'annotate'; service: number; annotation: number }
  | { kind: 'remove-service'; service: number }
  | { kind: 'label'; node: number; site: string; zone: string }
  | { kind: 'sync' }
  | { kind: 'minute' };

const anyEndpoint = fc.record({
  address: fc.integer({ min: 1, max: 8 }),
  node: fc.constantFrom(...NODES, ''),
  zone: fc.constantFrom('z1', 'z2', ''),
  state: fc.integer({ min: 0, max: 2 }),
});
const service = fc.integer({ min: 0, max: SERVICES.length - 1 });
const slice = fc.integer({ min: 0, max: 2 });
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('object' as const),
      service,
      slice,
      endpoints: fc.array(anyEndpoint, { maxLength: 4 }),
      port: fc.constantFrom('http', 'metrics'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), service, slice }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('annotate' as const),
      service,
      annotation: fc.integer({ min: 0, max: ANNOTATIONS.length - 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove-service' as const), service }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('label' as const),
      node: fc.integer({ min: 0, max: NODES.length - 1 }),
      site: fc.constantFrom('a', 'b', ''),
      zone: fc.constantFrom('z1', 'z2', ''),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('sync' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('minute' as const) }) },
);
