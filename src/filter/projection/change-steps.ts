import type { Change } from '../codec/change.ts';

/**
 * Cuts changes where an object comes up again, so that each of its changes is shown; but not between the end of
 * an object and the beginning of the next one of that name.
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
