import { createHash } from 'node:crypto';
import type { Settings } from './settings.ts';

/** Identifies settings: equal settings of different nodes have the same revision. 8 hex digits. */
export function settingsRevision({ nodeName, ...settings }: Settings): string {
  return createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 8);
}
