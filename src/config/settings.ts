import { readFileSync } from 'node:fs';
import { loadAll } from 'js-yaml';
import type { z } from 'zod';
import { WrapperError } from '../errors.ts';
import { settingsSchema } from './settings-schema.ts';

export type Settings = z.output<typeof settingsSchema>;

/** Settings as they come from flags, the environment or the file: none of them checked. */
export type RawSettings = Record<string, unknown>;

/**
 * Puts the settings together: flags over environment (`NODE_NAME`, `KUBECONFIG`) over file over defaults.
 * Throws `InvalidSettings` with one line that names every key that is unknown or has a bad value.
 */
export function loadSettings(
  flags: RawSettings,
  environment: NodeJS.ProcessEnv,
  file: string | undefined,
): Settings {
  const merged = {
    ...(file === undefined ? {} : readSettingsFile(file)),
    ...present({ nodeName: environment.NODE_NAME, kubeconfig: environment.KUBECONFIG }),
    ...present(flags),
  };
  const result = settingsSchema.safeParse(merged);
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => describe(issue, merged));
  throw new WrapperError('InvalidSettings', `invalid settings: ${problems.join('; ')}`);
}

function readSettingsFile(file: string): RawSettings {
  let documents: readonly unknown[];
  try {
    documents = loadAll(readFileSync(file, 'utf8'));
  } catch (cause) {
    const { message } = WrapperError.from(cause, 'InvalidSettings');
    throw new WrapperError(
      'InvalidSettings',
      `cannot read the settings file ${file}: ${message.split('\n', 1)[0]}`,
      { cause },
    );
  }
  // A separator at the end begins a document without content.
  const [content, ...others] = documents.filter((document) => document !== null);
  if (others.length > 0) {
    throw new WrapperError(
      'InvalidSettings',
      `the settings file ${file} holds several YAML documents; put all settings into one, without --- between them`,
    );
  }
  if (content === undefined) return {};
  if (typeof content === 'object' && !Array.isArray(content)) return content as RawSettings;
  throw new WrapperError(
    'InvalidSettings',
    `the settings file ${file} holds no mapping of settings`,
  );
}

/** An empty variable or a flag not given is no setting. */
function present(values: RawSettings): RawSettings {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(given);
}

function describe(issue: z.core.$ZodIssue, merged: RawSettings): string {
  const key = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.map((each) => (key === '' ? each : `${key}.${each}`));
    return `unknown key ${keys.join(', ')}`;
  }
  if (key === 'nodeName' && merged.nodeName === undefined) {
    return 'no node name: give --node-name, NODE_NAME or nodeName';
  }
  return `${key}${shown(issue.path, merged)}: ${issue.message}`;
}

/** `=<value>`; nothing where there is none, where it may hold a password, or where YAML made it hold itself. */
function shown(path: readonly PropertyKey[], merged: RawSettings): string {
  const value = valueAt(merged, path);
  if (value === undefined || path[0] === 'servers') return '';
  try {
    return `=${JSON.stringify(value)}`;
  } catch {
    return '';
  }
}

function valueAt(settings: RawSettings, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined,
    settings,
  );
}
