import { test } from '@jest/globals';
import fc from 'fast-check';
import { CLOUD, HOST, OWN } from '../../../harness/history/expected-view.ts';
import { POLICY_RUNS, play } from '../../support/policy/policy-history.ts';
import { anyCluster, anySettings, anyStep, type Step } from '../../support/policy/policy-steps.ts';

/** Annotations that hide a Service under some conditions, and annotations that show all of it. */
const annotations = fc.constantFrom<Record<string, string>>(
  {},
  { topologyKeys: `["${HOST}","${CLOUD}"]` },
  { topologyKeys: 'fab-proxy' },
  { topologyKeys: '["site","*"]' },
  { topologyKeys: `["${CLOUD}"]`, 'kube-proxy-wrapper.io/filter': 'dry-run' },
);

/** Settings by which Services are hidden. */
const settings = fc.tuple(anySettings, fc.boolean()).map(([given, passthrough]) => ({
  ...given,
  defaults: [],
  minReady: {},
  edge: 'role' as const,
  passthrough,
  hides: passthrough ? given.hides : ('labelled' as const),
}));

/** Any cluster, seen from an edge node. */
const cluster = anyCluster.map((given) => {
  const labels = { ...given.nodes.get(OWN), role: 'edge', site: 'a' };
  return { ...given, nodes: new Map([...given.nodes, [OWN, labels]]) };
});

/** Only Services and slices change. Half of the policies can hide Services. */
const step = anyStep
  .filter(({ kind }) => ['services', 'slices', 'answer', 'sync', 'minute'].includes(kind))
  .chain((given): fc.Arbitrary<Step> => {
    if (given.kind !== 'services') return fc.constant(given);
    const plain = { local: undefined, headless: false };
    const changes = given.changes.map(({ key, service }) =>
      annotations.map((each) => ({
        key,
        service: service && { ...service, ...plain, annotations: each },
      })),
    );
    return fc.record({ kind: fc.constant('services'), changes: fc.tuple(...changes) });
  });

test(
  'a Service with a ready endpoint before and after a change has one at each event in between',
  () => {
    const steps = fc.array(step, { minLength: 1, maxLength: 25, size: 'max' });
    fc.assert(
      fc.property(settings, cluster, steps, (given, start, history) => {
        play(given, start, history);
      }),
      { numRuns: POLICY_RUNS },
    );
  },
  Math.max(60_000, POLICY_RUNS * 200),
);
