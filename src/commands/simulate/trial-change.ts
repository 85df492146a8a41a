import type { PartialObjectMetadata } from '../../filter/codec/codec.ts';
import { UsageError } from '../flags.ts';
import type { ClusterObjects } from './cluster-objects.ts';

/** A change to try: a label of a Node, or an annotation of a Service or Namespace. */
export interface TrialChange {
  readonly kind: 'node' | 'service' | 'namespace';
  /** `namespace/name` of a Service. */
  readonly object: string;
  readonly key: string;
  /** Undefined: removed. */
  readonly value: string | undefined;
}

const PATTERN = /^(node|service|namespace)\/([^:=]+):([^=\s]+?)(?:=(.*)|-)$/s;

/**
 * Parses `node/edge-1:site=b` (a label), `service/shop/web:topologyKeys=["site"]` or
 * `namespace/shop:topologyKeys=…` (annotations); `node/edge-1:site-` removes.
 */
export function parseChange(text: string): TrialChange {
  const [, kind, object = '', key = '', value] = PATTERN.exec(text) ?? [];
  if (kind === 'node' || kind === 'namespace') return { kind, object, key, value };
  if (kind === 'service') {
    return { kind, object: object.includes('/') ? object : `default/${object}`, key, value };
  }
  throw new UsageError(
    `--set must be node/NAME:LABEL=VALUE, service/NAMESPACE/NAME:ANNOTATION=VALUE, namespace/NAME:ANNOTATION=VALUE, ` +
      `or KEY- to remove, not ${JSON.stringify(text)}`,
  );
}

/** Applies changes. Throws for an object that does not exist, because it is probably misspelled. */
export function applyChanges(
  cluster: ClusterObjects,
  changes: readonly TrialChange[],
): ClusterObjects {
  let { nodes, services, namespaces } = cluster;
  for (const change of changes) {
    if (change.kind === 'node') nodes = changed(nodes, change, 'labels');
    else if (change.kind === 'service') services = changed(services, change, 'annotations');
    else namespaces = changed(namespaces, change, 'annotations');
  }
  return { ...cluster, nodes, services, namespaces };
}

function changed<T extends PartialObjectMetadata>(
  objects: readonly T[],
  { kind, object, key, value }: TrialChange,
  field: 'labels' | 'annotations',
): T[] {
  let found = false;
  const result = objects.map((each) => {
    const name = each.namespace === '' ? each.name : `${each.namespace}/${each.name}`;
    if (name !== object) return each;
    found = true;
    const map = new Map(each[field]);
    if (value === undefined) map.delete(key);
    else map.set(key, value);
    return { ...each, [field]: map };
  });
  if (!found) throw new UsageError(`--set: there is no ${kind} ${object}`);
  return result;
}
