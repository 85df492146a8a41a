import { createHash } from 'node:crypto';
import { outcomeLine, type ServiceOutcome } from '../../topology/state/service-outcome.ts';

const UNREAD: readonly ServiceOutcome['reason'][] = ['not-read', 'unknown-service'];

/**
 * Equal for equal outcomes of all Services that have endpoints and that kube-proxy reads: the others have no traffic
 * that could differ.
 */
export function outcomesHash(outcomes: Iterable<ServiceOutcome>): string {
  const lines = [...outcomes]
    .filter(({ total, reason }) => total > 0 && !UNREAD.includes(reason))
    .map(outcomeLine);
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex').slice(0, 16);
}
