import type { DataAge } from './data-age.ts';
import type { Check } from './readiness.ts';

/** A cause of failed checks. */
export interface ReadinessCause {
  /** Name of its first check. */
  readonly check: string;
  readonly nature: Check['nature'];
  readonly text: string;
  /** Number of checks that fail because of it. */
  readonly checks: number;
}

/**
 * Why checks fail. A single cause, such as an unreachable API server, fails several checks. It is named once:
 *
 * - old data is one cause, whatever collections it concerns
 * - checks with the same problem have the same cause
 * - a check that waits for another one is named only if nothing else fails
 */
export function causesOf(checks: readonly Check[], data: DataAge): ReadinessCause[] {
  const causes = new Map<string, ReadinessCause>();
  const failed = checks.filter(({ problem }) => problem !== undefined);
  const causing = failed.filter(({ nature }) => nature !== 'waits');
  for (const check of causing.length > 0 ? causing : failed) {
    const text = causeText(check, data);
    const { name, nature } = check;
    const cause = causes.get(text) ?? { check: name, nature, text, checks: 0 };
    causes.set(text, { ...cause, checks: cause.checks + 1 });
  }
  return [...causes.values()].sort((a, b) => b.checks - a.checks);
}

/** The same problem has the same cause, whatever collection could not be read. */
const UNREAD = ['starting', 'unsynced', 'forbidden'] as const;

function causeText({ name, problem = '', nature }: Check, { cause }: DataAge): string {
  if (nature === 'stale' && cause !== undefined) return cause;
  return UNREAD.some((each) => each === nature) ? problem : `${name}: ${problem}`;
}
