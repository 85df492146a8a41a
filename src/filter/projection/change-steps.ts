import type { Change } from '../objects/change.ts';

/**
 * Splits changes into steps in which each object occurs once, so that each of its changes is shown. A DELETED and the
 * ADDED of the same name that follows it stay in one step.
 */
export function* changeSteps<T extends Pick<Change, 'type' | 'key'>>(
  changes: readonly T[],
): Generator<readonly T[]> {
  const seen = new Map<string, T['type']>();
  let start = 0;
  for (const [index, { key, type }] of changes.entries()) {
    const before = seen.get(key);
    if (before !== undefined && !(before === 'DELETED' && type === 'ADDED')) {
      yield changes.slice(start, index);
      start = index;
      seen.clear();
    }
    seen.set(key, type);
  }
  yield changes.slice(start);
}
