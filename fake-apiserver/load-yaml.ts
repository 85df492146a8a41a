import { loadAll, YAMLException } from 'js-yaml';
import { COLLECTIONS, type Collection, collectionOfKind } from './collections.ts';
import { isRecord, type KubeObject } from './kube-object.ts';
import { keyOf } from './stamp.ts';
import type { Store } from './store.ts';
import { validateObject } from './validate.ts';

/** An object of a document, with its title in errors. */
interface Item {
  readonly title: string;
  readonly value: Record<string, unknown>;
}

/** Settings of {@link loadYaml}. */
export interface LoadOptions {
  /** Called with the kind of each object that this server does not store. Default: such an object is an error. */
  readonly onUnknownKind?: (kind: string) => void;
}

/**
 * Creates or replaces the objects of YAML documents, including those in a List, and returns their number. Nothing is
 * written unless all are valid. Throws an Error that names the document, counted from 1, and the object:
 * `document 3 (Service default/web): …`.
 */
export function loadYaml(store: Store, text: string, { onUnknownKind }: LoadOptions = {}): number {
  const items = parseDocuments(text).flatMap((document, index) =>
    itemsOf(document, `document ${index + 1}`),
  );
  const known = items.filter(({ value }) => {
    if (onUnknownKind === undefined || collectionOf(value) !== undefined) return true;
    onUnknownKind(typeof value.kind === 'string' ? value.kind : 'object without kind');
    return false;
  });
  const checked = known.map(checkedItem);
  for (const { collection, object } of checked) {
    const exists = store.get(collection.name, keyOf(collection, object)) !== undefined;
    if (exists) store.update(collection.name, withoutVersion(object));
    else store.create(collection.name, object);
  }
  return checked.length;
}

function parseDocuments(text: string): unknown[] {
  try {
    return loadAll(text);
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line = error.mark?.line ?? 0;
    const number = documentAt(text, line);
    throw new Error(`document ${number}: line ${line + 1}: ${error.reason}`, { cause: error });
  }
}

/** Number of the document with a line, counted from 1. A separator before any content begins the first document. */
function documentAt(text: string, line: number): number {
  const lines = text.split('\n').slice(0, line + 1);
  const isSeparator = (each: string) => /^---(\s|$)/.test(each);
  const first = lines.findIndex((each) => each.trim() !== '' && !each.startsWith('#'));
  return 1 + lines.slice(first + 1).filter(isSeparator).length;
}

/** The objects of a document. A trailing separator or a comment gives an empty document without objects. */
function itemsOf(document: unknown, title: string): Item[] {
  if (document === null || document === undefined) return [];
  if (!isRecord(document)) throw new Error(`${title}: not an object`);
  const { kind, apiVersion, metadata } = document;
  if (typeof kind === 'string' && kind.endsWith('List')) {
    if (!Array.isArray(document.items)) throw new Error(`${title} (${kind}): items is not a list`);
    return document.items.flatMap((item, index) => {
      // Items of a typed list may omit their kind.
      const typed = kind === 'List' ? {} : { apiVersion, kind: kind.slice(0, -'List'.length) };
      return itemsOf(isRecord(item) ? { ...typed, ...item } : item, `${title}, item ${index + 1}`);
    });
  }
  const { namespace, name } = isRecord(metadata) ? metadata : {};
  const reference = [namespace, name].filter((part) => typeof part === 'string').join('/');
  const label = [typeof kind === 'string' ? kind : 'no kind', reference].filter(Boolean).join(' ');
  return [{ title: `${title} (${label})`, value: document }];
}

function checkedItem({ title, value }: Item): { collection: Collection; object: KubeObject } {
  const { apiVersion, kind } = value;
  const collection = collectionOf(value);
  if (collection === undefined) {
    const known = [...new Set([...COLLECTIONS.values()].map((each) => each.kind))].join(', ');
    throw new Error(
      `${title}: unknown kind ${kind} of apiVersion ${apiVersion}; known kinds: ${known}`,
    );
  }
  const errors = validateObject(collection, value);
  if (errors.length > 0) {
    throw new Error(
      `${title}: ${errors.map((each) => `${each.field}: ${each.message}`).join('; ')}`,
    );
  }
  return { collection, object: value as unknown as KubeObject }; // validated above
}

function collectionOf({ apiVersion, kind }: Record<string, unknown>): Collection | undefined {
  return collectionOfKind(String(apiVersion), String(kind));
}

/** Without version and uid, which a saved file may contain, the object replaces any existing version. */
function withoutVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _, uid: __, ...metadata } = object.metadata;
  return { ...object, metadata: metadata as KubeObject['metadata'] }; // the name is still there
}
