import type { DataAge } from './data-age.ts';
import type { Check } from './readiness.ts';

/** A cause of failed checks. */
export interface ReadinessCause {
  /** Name of its first check. */
  readonly check: string;
  readonly nature: Check['nature'];
  /** The same on each node with this cause. */
  readonly text: string;
  /** What differs from node to node. */
  readonly detail?: string | undefined;
  /** Number of checks that fail because of it. */
  readonly checks: number;
}

/**
 * Why checks fail. A single cause, such as an unreachable API server, fails several checks. It is named once:
 *
 * - old data is one cause, whatever collections it concerns
 * - checks with the same problem have the same cause
 * - a check that waits for one that fails has no cause of its own
 */
export function causesOf(checks: readonly Check[], data: DataAge): ReadinessCause[] {
  const failed = checks.filter(({ problem }) => problem !== undefined);
  const names = new Set(failed.map(({ name }) => name));
  const causing = failed.filter(({ waitsFor }) => waitsFor === undefined || !names.has(waitsFor));
  const all = causing.map((check) => causeOf(check, data));
  const causes = Map.groupBy(all, ({ nature, text, detail = '' }) =>
    // Each collection has an error of its own, with its path.
    nature === 'forbidden' ? text : `${text} ${detail}`,
  );
  return Array.from(causes.values(), (same) => ({
    ...(same[0] as ReadinessCause),
    checks: same.length,
  })).sort((a, b) => b.checks - a.checks);
}

/** A problem of a check, or of its cause, in one line. */
export function withDetail(text: string, detail: string | undefined): string {
  return detail === undefined ? text : `${text}: ${detail}`;
}

function causeOf(
  { name, problem = '', nature, detail }: Check,
  { cause }: DataAge,
): ReadinessCause {
  const about = { check: name, nature, checks: 1 };
  if (nature === 'stale' && cause !== undefined) return { ...about, text: cause };
  // The same problem has the same cause, whatever collection could not be read.
  const isUnread = nature !== undefined && nature !== 'stale';
  return { ...about, text: isUnread ? problem : `${name}: ${problem}`, detail };
}
