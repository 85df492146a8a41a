import type { Outcome } from '../../../src/proxy/upstream/failover.ts';
import type { Upstream } from '../../../src/proxy/upstream/upstream.ts';

/** What is reported to the fail-over of an upstream from now on. */
export function recordOutcomes({ failover }: Pick<Upstream, 'failover'>): readonly Outcome[] {
  const outcomes: Outcome[] = [];
  const report = failover.report.bind(failover);
  failover.report = (server, outcome) => {
    outcomes.push(outcome);
    report(server, outcome);
  };
  return outcomes;
}
