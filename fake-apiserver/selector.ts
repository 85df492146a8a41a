import type { Collection } from './collections.ts';
import { isRecord, type KubeObject } from './kube-object.ts';
import { badRequest } from './kube-status.ts';

/** Whether an object matches. */
export type Predicate = (object: KubeObject) => boolean;

/** The namespace, name and selectors of a request. */
export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

/**
 * Returns the predicate of a selection. Throws a 400 StatusError for an invalid selector and for a field that the
 * collection does not support.
 */
export function predicateOf(collection: Collection, selection: Selection): Predicate {
  const { namespace, name } = selection;
  const all: Predicate[] = [
    ...(namespace === undefined ? [] : [(o: KubeObject) => o.metadata.namespace === namespace]),
    ...(name === undefined ? [] : [(o: KubeObject) => o.metadata.name === name]),
    ...parseLabelSelector(selection.labelSelector),
    ...parseFieldSelector(collection, selection.fieldSelector),
  ];
  return (object) => all.every((each) => each(object));
}

const KEY = '[A-Za-z0-9][-A-Za-z0-9_./]*';
const VALUE = '(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?';
const EXISTS = new RegExp(`^(!?)\\s*(${KEY})$`);
const EQUALS = new RegExp(`^(${KEY})\\s*(==|=|!=)\\s*(${VALUE})$`);
const SET = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);

/** The grammar of apimachinery/pkg/labels: comma-separated requirements. An object must match all of them. */
function parseLabelSelector(text: string): Predicate[] {
  // A comma within parentheses separates values, not requirements.
  const parts = text.split(/,(?![^(]*\))/).map((part) => part.trim());
  return text.trim() === '' ? [] : parts.map((part) => parseRequirement(part, text));
}

function parseRequirement(part: string, whole: string): Predicate {
  const label = (object: KubeObject, key: string) => object.metadata.labels?.[key];
  const exists = EXISTS.exec(part);
  if (exists !== null) {
    const [, not, key = ''] = exists;
    return (object) => (label(object, key) !== undefined) === (not === '');
  }
  const equals = EQUALS.exec(part);
  if (equals !== null) {
    const [, key = '', operator, value] = equals;
    // An object without the label satisfies `!=`, and `notin` too.
    return (object) => (label(object, key) === value) === (operator !== '!=');
  }
  const set = SET.exec(part);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    const values = new Set(list.split(',').map((value) => value.trim()));
    return (object) => isIn(values, label(object, key)) === (operator === 'in');
  }
  throw badRequest(
    `unable to parse requirement: ${JSON.stringify(part)} in ${JSON.stringify(whole)}`,
  );
}

function isIn(values: ReadonlySet<string>, value: string | undefined): boolean {
  return value !== undefined && values.has(value);
}

function parseFieldSelector(collection: Collection, text: string): Predicate[] {
  if (text.trim() === '') return [];
  return text.split(',').map((part) => {
    const match = /^\s*([\w.[\]/-]+?)\s*(!=|==|=)(.*)$/.exec(part);
    if (match === null) {
      throw badRequest(`invalid selector: '${part}'; can't understand '${part}'`);
    }
    const [, field = '', operator, value = ''] = match;
    assertSelectable(collection, field);
    return (object: KubeObject) =>
      (fieldOf(object, field) === value.trim()) === (operator !== '!=');
  });
}

function assertSelectable(collection: Collection, field: string): void {
  const always = ['metadata.name', 'metadata.namespace'];
  if ([...always, ...collection.selectableFields].includes(field)) return;
  throw badRequest(
    collection.group === ''
      ? `field label not supported: ${field}`
      : `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
  );
}

/** An absent field is the empty string, as in Go. */
function fieldOf(object: KubeObject, path: string): string {
  let value: unknown = object;
  for (const key of path.split('.')) value = isRecord(value) ? value[key] : undefined;
  return value === undefined || value === null ? '' : String(value);
}
