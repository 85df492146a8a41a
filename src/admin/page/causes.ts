import type { DataAge } from '../data-age.ts';
import type { Check } from '../readiness.ts';
import type { Cause } from './page-data.ts';

/**
 * Why checks fail. A single cause, such as an unreachable API server, fails several checks. It is named once:
 *
 * - old data is one cause, whatever collections it concerns
 * - checks with the same problem have the same cause
 * - a check that waits for another one is named only if nothing else fails
 */
export function causesOf(checks: readonly Check[], data: DataAge): Cause[] {
  const counts = new Map<string, number>();
  const failed = checks.filter(({ problem }) => problem !== undefined);
  const causing = failed.filter(({ nature }) => nature !== 'waits');
  for (const check of causing.length > 0 ? causing : failed) {
    const text = textOf(check, data);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts]
    .map(([text, count]) => ({ text, checks: count }))
    .sort((a, b) => b.checks - a.checks);
}

function textOf({ name, problem = '', nature }: Check, { cause }: DataAge): string {
  if (nature === 'stale' && cause !== undefined) return cause;
  return nature === 'unsynced' ? problem : `${name}: ${problem}`;
}
