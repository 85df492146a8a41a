import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { didYouMean } from '../did-you-mean.ts';
import { WrapperError } from '../errors.ts';
import { parseYaml, readBounded } from '../read-yaml.ts';
import { removedSetting } from './removed-settings.ts';
import { settingsSchema, settingsShape } from './settings-schema.ts';

export type Settings = z.output<typeof settingsSchema>;

/** Unchecked settings from flags, the environment or the file. */
export type RawSettings = Record<string, unknown>;

/**
 * Merges the settings. Flags override the environment (`NODE_NAME`, `KUBECONFIG`), which overrides the file, which
 * overrides the defaults. Throws `InvalidSettings` with one line that names every unknown key and bad value.
 */
export function loadSettings(
  flags: RawSettings,
  environment: NodeJS.ProcessEnv,
  file: string | undefined,
): Settings {
  return readSettings(flags, environment, file).settings;
}

/** Settings, and how they differ from the defaults. */
export interface ReadSettings {
  readonly settings: Settings;
  /** The settings that differ from the defaults, as they were given. They contain no secrets. */
  readonly changed: RawSettings;
}

/** The same as {@link loadSettings}, and what differs from the defaults. */
export function readSettings(
  flags: RawSettings,
  environment: NodeJS.ProcessEnv,
  file: string | undefined,
): ReadSettings {
  const merged: RawSettings = {
    ...(file === undefined ? {} : readSettingsFile(file)),
    ...present({ nodeName: environment.NODE_NAME, kubeconfig: environment.KUBECONFIG }),
    ...present(flags),
  };
  const result = settingsSchema.safeParse(merged);
  if (result.success) return { settings: result.data, changed: changedOf(merged, result.data) };
  const problems = result.error.issues.map((issue) => describe(issue, merged, file));
  throw new WrapperError('InvalidSettings', `invalid settings: ${problems.join('; ')}`);
}

/** The name of the node is not included: it has no default. */
function changedOf(merged: RawSettings, settings: Settings): RawSettings {
  const defaults: Record<string, unknown> = settingsSchema.parse({ nodeName: settings.nodeName });
  const current: Record<string, unknown> = settings;
  const changed = Object.entries(merged).filter(
    ([name]) => !isDeepStrictEqual(current[name], defaults[name]),
  );
  return Object.fromEntries(changed);
}

/** Limit of the settings file. */
const MAX_BYTES = 1024 * 1024;

function readSettingsFile(file: string): RawSettings {
  let documents: readonly unknown[];
  try {
    documents = parseYaml(readBounded(file, MAX_BYTES));
  } catch (cause) {
    const { message } = WrapperError.from(cause, 'InvalidSettings');
    throw new WrapperError(
      'InvalidSettings',
      `cannot read the settings file ${file}: ${message.split('\n', 1)[0]}`,
      { cause },
    );
  }
  const [content, ...others] = documents;
  if (others.length > 0) {
    throw new WrapperError(
      'InvalidSettings',
      `the settings file ${file} contains several YAML documents; put all settings into one, without --- between them`,
    );
  }
  if (content === undefined) return {};
  if (typeof content === 'object' && !Array.isArray(content)) return content as RawSettings;
  throw new WrapperError(
    'InvalidSettings',
    `the settings file ${file} is not a mapping from settings to values`,
  );
}

/** An empty variable, or a flag that was not given, does not set anything. */
function present(values: RawSettings): RawSettings {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(given);
}

function describe(issue: z.core.$ZodIssue, merged: RawSettings, file: string | undefined): string {
  const key = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const prefix = key === '' ? '' : `${key}.`;
    const removed = issue.keys.map((each) => removedSetting(prefix + each));
    const unknown = issue.keys.filter((_, index) => removed[index] === undefined);
    const known = keysAt(issue.path);
    const named = unknown.map((each) => {
      const meant = didYouMean(each, known);
      return `${prefix}${each}${meant === undefined ? '' : ` (did you mean ${prefix}${meant}?)`}`;
    });
    // Flags and the environment set known keys only.
    const where = file === undefined ? '' : ` in ${file}`;
    return [
      ...removed.filter((each) => each !== undefined),
      ...(named.length === 0 ? [] : [`unknown key ${named.join(', ')}${where}`]),
    ].join('; ');
  }
  if (key === 'nodeName' && merged.nodeName === undefined) {
    return 'no node name: give --node-name, NODE_NAME or nodeName';
  }
  return `${key}${valueText(issue.path, merged)}: ${issue.message}`;
}

/** The keys that a setting may have. */
function keysAt(path: readonly PropertyKey[]): string[] {
  let schema: unknown = settingsShape;
  for (const key of path) schema = shapeOf(schema)[String(key)];
  return Object.keys(shapeOf(schema));
}

/** The keys of an object's schema, which may be optional, have a default, or be transformed. */
function shapeOf(schema: unknown): Readonly<Record<string, unknown>> {
  if (schema instanceof z.ZodObject) return schema.shape;
  if (!(schema instanceof z.ZodType)) return {};
  const { innerType, in: input } = schema.def as { innerType?: unknown; in?: unknown };
  return shapeOf(innerType ?? input);
}

/** `=<value>`. Empty for a missing value, and for one that may contain a password. */
function valueText(path: readonly PropertyKey[], merged: RawSettings): string {
  const value = valueAt(merged, path);
  if (value === undefined || path[0] === 'servers') return '';
  return `=${JSON.stringify(value)}`;
}

function valueAt(settings: RawSettings, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined,
    settings,
  );
}
