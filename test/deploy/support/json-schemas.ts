import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiClient } from '../../e2e/support/api.ts';

/** A JSON schema, or part of one. */
type Schema = { [keyword: string]: unknown };

/** A type in /openapi/v2. */
interface Definition extends Schema {
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[];
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Where kubeconform looks for the schema of a kind, in the folder that {@link writeJsonSchemas} fills. */
export const schemaLocation = '{{ .ResourceKind }}{{ .KindSuffix }}.json';

/**
 * Writes the schema of every kind of the API server for kubeconform. By default it downloads schemas, but they
 * are made from just this OpenAPI document. Strict: fields that a type does not have are errors.
 */
export async function writeJsonSchemas(api: ApiClient, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const document = await api.get('/openapi/v2');
  const definitions = document.definitions as Record<string, Definition>;
  const strict = Object.entries(definitions).map(([name, each]) => [name, toJsonSchema(each)]);
  const all = join(folder, '_definitions.json');
  writeFileSync(all, JSON.stringify({ definitions: Object.fromEntries(strict) }));
  for (const [name, definition] of Object.entries(definitions)) {
    for (const { group, version, kind } of definition['x-kubernetes-group-version-kind'] ?? []) {
      // kubeconform's suffix: of the group its first label.
      const [label = ''] = group.split('.');
      const file = [kind.toLowerCase(), ...(label === '' ? [] : [label]), version].join('-');
      const schema = { $ref: `_definitions.json#/definitions/${name}` };
      writeFileSync(join(folder, `${file}.json`), JSON.stringify(schema));
    }
  }
}

/** OpenAPI 2 is JSON schema, except for a few keywords. */
function toJsonSchema(schema: Schema): Schema {
  const { format, ...rest } = schema;
  if (format === 'int-or-string') return { ...rest, type: ['integer', 'string'] };
  const copy = Object.entries(rest).map(([key, value]) => [key, convert(value)]);
  const converted = Object.fromEntries(copy) as Schema;
  const isClosed = schema.properties !== undefined && schema.additionalProperties === undefined;
  return isClosed ? { ...converted, additionalProperties: false } : converted;
}

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value as Schema).map(([key, each]) => [
    key,
    key === '$ref' ? each : convert(each),
  ]);
  return toJsonSchema(Object.fromEntries(entries) as Schema);
}
