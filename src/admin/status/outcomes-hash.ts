import { createHash } from 'node:crypto';
import { outcomeLine, type ServiceOutcome } from '../../topology/state/service-outcome.ts';

/** Equal for equal outcomes of all Services that have endpoints: the others have no traffic that could differ. */
export function outcomesHash(outcomes: Iterable<ServiceOutcome>): string {
  const lines = [...outcomes].filter(({ total }) => total > 0).map(outcomeLine);
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex').slice(0, 16);
}
