import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import { WrapperError } from '../errors.ts';
import { parseYaml, readBounded, reading } from '../text/read-yaml.ts';
import { invalidValue, isMapping } from './setting-types.ts';
import {
  problemsBetween,
  type SettingProblem,
  type Settings,
  settingsSchema,
} from './settings-schema.ts';

export type { Settings } from './settings-schema.ts';

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
  const result = v.safeParse(settingsSchema, merged, { message: invalidValue });
  const problems = result.success
    ? problemsBetween(result.output).map((problem) => problemText(problem, merged))
    : result.issues.map((issue) => describe(issue, merged, file));
  if (!result.success || problems.length > 0) {
    throw new WrapperError('InvalidSettings', `invalid settings: ${problems.join('; ')}`);
  }
  return { settings: result.output, changed: changedOf(merged, result.output) };
}

/** The name of the node is not included: it has no default. */
function changedOf(merged: RawSettings, settings: Settings): RawSettings {
  const defaults: Record<string, unknown> = v.parse(settingsSchema, {
    nodeName: settings.nodeName,
  });
  const current: Record<string, unknown> = settings;
  const changed = Object.entries(merged).filter(
    ([name]) => !isDeepStrictEqual(current[name], defaults[name]),
  );
  return Object.fromEntries(changed);
}

/** Limit of the settings file. */
const MAX_SETTINGS_BYTES = 1024 * 1024;

function readSettingsFile(file: string): RawSettings {
  const [content, ...others] = reading(`the settings file ${file}`, () =>
    parseYaml(readBounded(file, MAX_SETTINGS_BYTES)),
  );
  if (others.length > 0) {
    throw new WrapperError(
      'InvalidSettings',
      `the settings file ${file} contains several YAML documents; put all settings into one, without --- between them`,
    );
  }
  if (content === undefined) return {};
  if (isConfigMap(content)) {
    throw new WrapperError(
      'InvalidSettings',
      `${file} is a ConfigMap, not settings; save what is in its data: kubectl get configmap NAME -o jsonpath='{.data.config\\.yaml}'`,
    );
  }
  if (isMapping(content)) return content as RawSettings;
  throw new WrapperError(
    'InvalidSettings',
    `the settings file ${file} is not a mapping from settings to values`,
  );
}

/** Whether the content of a file is the ConfigMap with the settings, as kubectl get prints it. */
export function isConfigMap(content: unknown): boolean {
  return isMapping(content) && (content as { kind?: unknown }).kind === 'ConfigMap';
}

/** An empty variable, or a flag that was not given, does not set anything. */
function present(values: RawSettings): RawSettings {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(given);
}

function describe(
  { type, expected, path, message }: v.BaseIssue<unknown>,
  merged: RawSettings,
  file: string | undefined,
): string {
  const keys = (path ?? []).map(({ key }) => String(key));
  if (type === 'strict_object' && expected === 'never') {
    // Flags and the environment set known keys only.
    const where = file === undefined ? '' : ` in ${file}`;
    return message.replace(/unknown key .*/, (unknown) => unknown + where);
  }
  if (keys[0] === 'nodeName' && merged.nodeName === undefined) {
    return 'no node name: give --node-name, NODE_NAME or nodeName';
  }
  return problemText({ path: keys, message }, merged);
}

/** The problem after its key and `=<value>`; without a value that is missing or may contain a password. */
function problemText({ path, message }: SettingProblem, merged: RawSettings): string {
  const value = path.includes('servers') ? undefined : valueAt(merged, path);
  return `${path.join('.')}${value === undefined ? '' : `=${JSON.stringify(value)}`}: ${message}`;
}

function valueAt(settings: RawSettings, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined,
    settings,
  );
}
