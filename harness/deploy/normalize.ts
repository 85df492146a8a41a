import { load } from 'js-yaml';
import type { KubeObject } from '../api-server/api.ts';

/** Data of a ConfigMap, or the like. */
type Strings = Readonly<Record<string, string>>;

/**
 * The objects as kubelet and the API server act on them, so that two ways to say the same are equal: without the
 * hashes in the names of ConfigMaps and labels that only say who made an object, with environment variables of
 * ConfigMaps resolved, settings parsed, and in one order.
 */
export function normalize(objects: readonly KubeObject[]): unknown[] {
  const configMaps = new Map(
    objects
      .filter(({ kind }) => kind === 'ConfigMap')
      .map(({ metadata, data }) => [metadata.name, data as Strings]),
  );
  const used = new Set<string>();
  const plain = objects.map((object) => normalizeObject(object, configMaps, used));
  return plain
    .filter(({ kind, metadata }) => kind !== 'ConfigMap' || !used.has(metadata.name))
    .sort((a, b) => (`${a.kind} ${a.metadata.name}` < `${b.kind} ${b.metadata.name}` ? -1 : 1));
}

function normalizeObject(
  object: KubeObject,
  configMaps: ReadonlyMap<string, Strings>,
  used: Set<string>,
): KubeObject {
  const { labels, ...metadata } = object.metadata;
  const isNamespaced = !object.kind?.startsWith('Cluster');
  const name = object.kind === 'ConfigMap' ? withoutHash(metadata.name) : metadata.name;
  const namespace = isNamespaced ? { namespace: metadata.namespace ?? 'kube-system' } : {};
  const own = Object.entries(labels ?? {}).filter(([key]) => key === 'app.kubernetes.io/name');
  // Generated ConfigMaps have no labels.
  const kept = object.kind === 'ConfigMap' ? {} : { labels: Object.fromEntries(own) };
  const copy = resolveReferences(object, configMaps, used) as KubeObject;
  const data = object.data === undefined ? {} : { data: parseValues(object.data as Strings) };
  return { ...copy, ...data, metadata: { ...metadata, ...namespace, ...kept, name } };
}

function withoutHash(name: string): string {
  return name.replace(/-[a-z0-9]{10}$/, '');
}

function parseValues(data: Strings): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, load(text)]));
}

/** A deep copy with values of ConfigMaps in place, and names of mounted ones without their hash. */
function resolveReferences(
  value: unknown,
  configMaps: ReadonlyMap<string, Strings>,
  used: Set<string>,
): unknown {
  if (Array.isArray(value)) return value.map((each) => resolveReferences(each, configMaps, used));
  if (typeof value !== 'object' || value === null) return value;
  const fields = value as Record<string, unknown>;
  const { valueFrom, ...rest } = fields as { valueFrom?: { configMapKeyRef?: KeyRef } };
  const reference = valueFrom?.configMapKeyRef;
  if (reference !== undefined) {
    used.add(withoutHash(reference.name));
    return { ...rest, value: configMaps.get(reference.name)?.[reference.key] };
  }
  const entries = Object.entries(fields).map(([key, each]) => {
    const copy = resolveReferences(each, configMaps, used);
    const isMounted = key === 'configMap' && typeof (copy as KeyRef).name === 'string';
    return [
      key,
      isMounted ? { ...(copy as KeyRef), name: withoutHash((copy as KeyRef).name) } : copy,
    ];
  });
  return Object.fromEntries(entries);
}

interface KeyRef {
  readonly name: string;
  readonly key: string;
}
