import { createHash } from 'node:crypto';
import { isMapping } from './setting-types.ts';
import type { Settings } from './settings.ts';

/**
 * Identifies settings: equal settings of different nodes have the same revision, in whatever order their keys were
 * written. 8 hex digits.
 */
export function settingsRevision({ nodeName, ...settings }: Settings): string {
  const text = JSON.stringify(settings, (_key, value) =>
    isMapping(value) ? sorted(value) : value,
  );
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

/** The same mapping with its keys in order. */
function sorted(mapping: object): object {
  return Object.fromEntries(
    Object.entries(mapping).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}
