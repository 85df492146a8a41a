import type { RequestEnd } from '../../../src/client/api/request-end.ts';
import type { Upstream } from '../../../src/client/upstream/upstream.ts';

/** What is reported to the fail-over of an upstream from now on. */
export function recordOutcomes({ failover }: Pick<Upstream, 'failover'>): readonly RequestEnd[] {
  const outcomes: RequestEnd[] = [];
  const report = failover.report.bind(failover);
  failover.report = (server, since, end) => {
    outcomes.push(end);
    report(server, since, end);
  };
  return outcomes;
}
