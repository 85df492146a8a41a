import { isDeepStrictEqual } from 'node:util';
import type { Settings } from './settings.ts';

/**
 * Settings that a running process can take over: they only change how Services are decided, and what is logged. All
 * others change what is listened on, which queries are open, or a limit that is already in use.
 */
const RELOADABLE: readonly (keyof Settings)[] = [
  'logLevel',
  'defaultTopologyKeys',
  'allowedTopologyKeys',
  'compatibility',
  'minReady',
  'returnDelaySeconds',
];

/** What differs between two settings. */
export interface SettingsChange {
  /** Settings that take effect now. */
  readonly reloaded: readonly string[];
  /** Settings that take effect after a restart. */
  readonly needRestart: readonly string[];
  /** The settings in use from now on. */
  readonly next: Settings;
}

/** Compares the settings in use with those that were read again. */
export function compareSettings(current: Settings, read: Settings): SettingsChange {
  const names = [...new Set([...Object.keys(current), ...Object.keys(read)])] as (keyof Settings)[];
  const changed = names.filter((name) => !isDeepStrictEqual(current[name], read[name])).sort();
  const canReload = (name: keyof Settings) => isReloadable(name, current);
  const reloaded = changed.filter(canReload);
  const values = Object.fromEntries(reloaded.map((name) => [name, read[name]]));
  return {
    reloaded,
    needRestart: changed.filter((name) => !canReload(name)),
    next: { ...current, ...values },
  };
}

/** A dry run also decides which Services are hidden. Views of Services are built for one or the other. */
function isReloadable(name: keyof Settings, { serviceFilter, cloud }: Settings): boolean {
  if (name !== 'dryRun') return RELOADABLE.includes(name);
  return serviceFilter === undefined && cloud.mode !== 'passthrough';
}
