import { describe, test } from '@jest/globals';
import fc from 'fast-check';
import { POLICY_RUNS, play } from '../../support/policy/policy-history.ts';
import { anyCluster, anySettings, anyStep } from '../../support/policy/policy-steps.ts';

describe('views of Services and slices, in protobuf and JSON', () => {
  test(
    'show exactly the chosen endpoints for any cluster, policies and history, and nothing in between',
    () => {
      const steps = fc.array(anyStep, { minLength: 1, maxLength: 25, size: 'max' });
      fc.assert(
        fc.property(anySettings, anyCluster, steps, fc.boolean(), (settings, cluster, ...rest) => {
          const [history, isRefused] = rest;
          play(settings, cluster, [...history, { kind: 'sync' }], isRefused).checkLogs();
        }),
        { numRuns: POLICY_RUNS },
      );
    },
    Math.max(60_000, POLICY_RUNS * 200),
  );

  test(
    'show the same as after a restart when there is no room for all node sets',
    () => {
      const steps = fc.array(anyStep, { minLength: 1, maxLength: 25, size: 'max' });
      const room = fc.integer({ min: 1, max: 3 });
      fc.assert(
        fc.property(
          anySettings,
          room,
          anyCluster,
          steps,
          (settings, maxNodeSets, cluster, history) => {
            play({ ...settings, maxNodeSets }, cluster, [...history, { kind: 'sync' }]).checkLogs();
          },
        ),
        { numRuns: POLICY_RUNS },
      );
    },
    Math.max(60_000, POLICY_RUNS * 200),
  );
});
