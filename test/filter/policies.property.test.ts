import { describe, test } from '@jest/globals';
import fc from 'fast-check';
import { History } from '../support/policy-history.ts';
import { anyCluster, anySettings, anyStep } from '../support/policy-steps.ts';

/** Set to look longer. */
const RUNS = Number(process.env.POLICY_RUNS ?? 400);

describe('views of Services and slices, in protobuf and JSON', () => {
  test(
    'for any cluster, policies and history show exactly what is chosen, and nothing in between',
    () => {
      const steps = fc.array(anyStep, { minLength: 1, maxLength: 25 });
      fc.assert(
        fc.property(anySettings, anyCluster, steps, (settings, cluster, history) => {
          const run = new History(settings, cluster);
          for (const step of history) run.apply(step);
          run.apply({ kind: 'sync' });
          run.checkLogs();
        }),
        { numRuns: RUNS },
      );
    },
    Math.max(60_000, RUNS * 200),
  );
});
