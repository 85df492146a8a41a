/** Documents the settings from their schema: as a JSON schema, and in Markdown. */
import { toJsonSchema } from '@valibot/to-json-schema';
import { run } from '../cli/definitions/run.ts';
import { settingsSchema } from '../src/config/settings-schema.ts';

/** The keywords of a JSON schema that the settings use. */
export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxItems?: number;
}

/** The settings file as a JSON schema, draft 7, which is what Helm reads. */
export function settingsJsonSchema(): JsonSchema {
  const { $schema: _draft, ...schema } = toJsonSchema(settingsSchema, {
    target: 'draft-07',
    // A mapping is two schemas: an object that is not an array, and its members.
    typeMode: 'output',
    ignoreActions: ['check', 'raw_transform', 'to_lower_case', 'trim'],
    overrideSchema({ jsonSchema }) {
      // The members of a mapping have their own defaults.
      if (jsonSchema.type === 'object') delete jsonSchema.default;
      if (jsonSchema.required?.length === 0) delete jsonSchema.required;
      return jsonSchema;
    },
    overrideAction({ valibotAction, jsonSchema }) {
      if (valibotAction.type !== 'safe_integer') return jsonSchema;
      // Without the limits of safe integers.
      const { minimum, maximum, ...others } = jsonSchema;
      return others;
    },
  });
  return schema as JsonSchema;
}

/** The same for the chart: without nodeName, which comes from the Pod, and without required settings. */
export function chartSettingsSchema(): JsonSchema {
  const { properties = {}, required: _nodeName, ...schema } = settingsJsonSchema();
  const { nodeName, ...others } = properties;
  const description =
    'Settings of the wrapper, as in its settings file. nodeName comes from the Pod.';
  return { description, ...schema, properties: others };
}

/** One setting, as docs/settings.md describes it. */
export interface SettingRow {
  /** `a.b`. */
  readonly key: string;
  readonly flag: string;
  readonly type: string;
  readonly default: string;
  readonly unit: string;
  readonly bounds: string;
  readonly meaning: string;
}

/** All settings; a mapping comes before its members. */
export function settingRows(schema = settingsJsonSchema(), prefix = ''): SettingRow[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, each]) => {
    const isRequired = schema.required?.includes(name) ?? false;
    const key = prefix + name;
    const row = {
      key,
      flag: prefix === '' ? flagOf(name) : '',
      type: typeOf(each),
      default: isRequired ? 'required' : defaultOf(each),
      unit: unitOf(name),
      bounds: boundsOf(each),
      meaning: each.description ?? '',
    };
    return [row, ...settingRows(each, `${key}.`)];
  });
}

function flagOf(key: string): string {
  const flag = key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return run.flags.some((each) => each.name() === flag) ? `\`--${flag}\`` : '';
}

function typeOf({ type, enum: choices, anyOf, items, additionalProperties }: JsonSchema): string {
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ');
  if (choices !== undefined) return choices.map((each) => `\`${each}\``).join(', ');
  if (type === 'array') return `list of ${items === undefined ? 'values' : typeOf(items)}`;
  if (type !== 'object') return type ?? 'any';
  return typeof additionalProperties === 'object'
    ? `mapping to ${typeOf(additionalProperties)}`
    : 'mapping';
}

function defaultOf({ default: value, type, additionalProperties }: JsonSchema): string {
  if (value === undefined) {
    if (type !== 'object') return 'none';
    return typeof additionalProperties === 'object' ? '`{}`' : '';
  }
  if (typeof value === 'number') return String(value);
  return `\`${typeof value === 'string' ? value : JSON.stringify(value).replaceAll(',', ', ')}\``;
}

function unitOf(name: string): string {
  const [, unit] = /(BytesPerSecond|Bytes|Seconds)$/.exec(name) ?? [];
  return { BytesPerSecond: 'bytes/s', Bytes: 'bytes', Seconds: 's' }[unit ?? ''] ?? '';
}

function boundsOf({ minimum, maximum, maxItems, anyOf = [] }: JsonSchema): string {
  const bounds = [
    minimum === undefined ? '' : `≥ ${minimum}`,
    maximum === undefined ? '' : `≤ ${maximum}`,
    maxItems === undefined ? '' : `at most ${maxItems}`,
    ...anyOf.map(boundsOf),
  ];
  return bounds.filter((each) => each !== '').join(', ');
}

const intro = `# Settings

The keys are those of the settings file (\`--config\`, YAML). Flags override the environment (\`NODE_NAME\`,
\`KUBECONFIG\`), which overrides the file. An unknown key or an invalid value ends the start. The error
names the key, and says what to do if it is one of an earlier version.

A kubeconfig with \`proxy-url\`, or one that impersonates groups, a UID or extra fields, is refused. \`HTTPS_PROXY\` is not used:
connections to the API server are direct. Where kubectl needs a proxy, run \`kubectl proxy\`, and give \`kubectl kpw\` a
kubeconfig with \`server: http://127.0.0.1:8001\`.

`;

/** The settings that most installations use. */
const USUAL: readonly string[] = [
  ...['nodeName', 'kubeconfig', 'defaultTopologyKeys', 'allowedTopologyKeys', 'dryRun'],
  ...['logLevel', 'stateDir', 'localRuntime', 'handoverSeconds', 'adminListen'],
];

/** Settings that few installations need, by the start of their keys. */
const SPECIAL: readonly string[] = [
  ...['https', 'compatibility', 'communities', 'edge', 'cloud', 'serviceFilter', 'headless'],
];

/** The whole of docs/settings.md. */
export function settingsMarkdown(): string {
  // The members of a mapping are the settings.
  const all = settingRows().filter(({ type }) => type !== 'mapping');
  const special = ({ key }: SettingRow) => SPECIAL.includes(key.split('.')[0] ?? '');
  const usual = USUAL.flatMap((key) => all.filter((row) => row.key === key));
  const others = all.filter((row) => !USUAL.includes(row.key) && !special(row));
  return [
    intro,
    `## The usual ones\n\n${listOf(usual)}`,
    `\n## Policies, servers and limits\n\nChange a limit only where [operations](operations.md) says so.\n\n${listOf(others)}`,
    '\n## For migrants, and for callers with their own identity\n\n',
    listOf(all.filter(special)),
  ].join('');
}

/** One item for each setting; its meaning in a paragraph, because the lines of a table would be too long to read. */
function listOf(settings: readonly SettingRow[]): string {
  return settings.map(itemOf).join('');
}

function itemOf({ key, flag, type, bounds, unit, meaning, ...row }: SettingRow): string {
  const hasUnit = unit !== '' && !Number.isNaN(Number(row.default));
  const initial = row.default === 'required' ? row.default : `default ${row.default}`;
  const facts = [type, bounds, hasUnit ? `${initial} ${unit}` : initial].filter(Boolean).join('; ');
  const name = flag === '' ? `\`${key}\`` : `\`${key}\`, ${flag}`;
  return wrap(`- ${name}: ${facts}. ${meaning}`);
}

const COLUMNS = 120;
/** Text between backquotes stays in one line, unless that would be too long. */
const WORD = /(?:`[^`]{1,100}`|\S)+/g;

/** Breaks an item of a list into lines. */
function wrap(item: string): string {
  const lines = [''];
  for (const word of item.match(WORD) ?? []) {
    const line = lines.at(-1) ?? '';
    if (line === '') lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= COLUMNS) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(`  ${word}`);
  }
  return `${lines.join('\n')}\n`;
}
