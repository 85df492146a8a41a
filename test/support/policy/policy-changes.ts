import type { ModelChanges } from './policy-harness.ts';
import type { Step } from './policy-steps.ts';

/** Objects that a step deletes, though it may create them again. */
export function deletedBy(step: Step): ReadonlySet<string> {
  if (step.kind === 'slices') {
    return new Set(step.changes.filter(({ slice }) => slice === undefined).map(({ key }) => key));
  }
  if (step.kind !== 'services') return new Set();
  return new Set(step.changes.filter(({ service }) => service === undefined).map(({ key }) => key));
}

/** Applies changes to a map; returns the new map and the changes that the API server would send. */
export function applyChanges<T>(
  before: ReadonlyMap<string, T>,
  changes: readonly (readonly [string, T | undefined])[],
): [ReadonlyMap<string, T>, ModelChanges<T>] {
  let after = before;
  const sent: [string, T | undefined, boolean][] = [];
  for (const [key, value] of changes) {
    if (after.has(key) || value !== undefined) sent.push([key, value, after.has(key)]);
    after = withChange(after, key, value);
  }
  return [after, sent];
}

/** A copy of a map with one entry set, or (undefined) removed. */
export function withChange<T>(map: ReadonlyMap<string, T>, key: string, value: T | undefined) {
  const changed = new Map(map);
  if (value === undefined) changed.delete(key);
  else changed.set(key, value);
  return changed;
}
