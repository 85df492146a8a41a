import { WrapperError } from '../../errors.ts';
import { isLabelKey, isLabelValue } from './label.ts';
import { quote } from './quote.ts';

/** One condition on the labels of an object; `in` and `notin` have at least one value. */
export interface Requirement {
  /** As in the selector. */
  readonly text: string;
  readonly key: string;
  readonly operator: 'exists' | 'absent' | 'in' | 'notin';
  /** Empty for `exists` and `absent`. */
  readonly values: readonly string[];
}

/** A Kubernetes label selector: labels must meet all its requirements. */
export type LabelSelector = readonly Requirement[];

/** Each object is compared with every requirement. */
export const MAX_REQUIREMENTS = 64;

const KEY = String.raw`[^\s,=!()]+`;
/** Clients send selectors before they are authorized, so none of these may backtrack. */
const PATTERNS: readonly [
  RegExp,
  (match: RegExpExecArray) => Pick<Requirement, 'key' | 'operator' | 'values'>,
][] = [
  [new RegExp(`^(${KEY})$`), ([, key = '']) => ({ key, operator: 'exists', values: [] })],
  [new RegExp(`^!\\s*(${KEY})$`), ([, key = '']) => ({ key, operator: 'absent', values: [] })],
  [
    new RegExp(`^(${KEY})\\s*==?\\s*([^\\s,=!()]*)$`),
    ([, key = '', value = '']) => ({ key, operator: 'in', values: [value] }),
  ],
  [
    new RegExp(`^(${KEY})\\s*!=\\s*([^\\s,=!()]*)$`),
    ([, key = '', value = '']) => ({ key, operator: 'notin', values: [value] }),
  ],
  [
    new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`),
    ([, key = '', operator, values = '']) => ({
      key,
      operator: operator === 'in' ? 'in' : 'notin',
      values: values.split(',').map((value) => value.trim()),
    }),
  ],
];

/**
 * Parses a label selector such as `role=edge`, `!cloud` or `zone in (a, b),edge` (apimachinery pkg/labels;
 * its numeric operators are not supported). Throws `InvalidSettings`.
 */
export function parseLabelSelector(text: string): LabelSelector {
  if (text.trim() === '') throw invalidSelector(text, 'it is empty');
  return split(text).map((part) => parseRequirement(part.trim(), text));
}

/** Splits at commas, except between parentheses, where a comma separates values. */
function split(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let isInside = false;
  for (let at = 0; at <= text.length; at++) {
    const character = text[at];
    if (character === '(') isInside = true;
    else if (character === ')') isInside = false;
    const isEnd = character === undefined || (character === ',' && !isInside);
    if (!isEnd) continue;
    if (parts.length === MAX_REQUIREMENTS) {
      throw invalidSelector(text, `it has more than ${MAX_REQUIREMENTS} requirements`);
    }
    parts.push(text.slice(start, at));
    start = at + 1;
  }
  return parts;
}

function parseRequirement(part: string, text: string): Requirement {
  for (const [pattern, build] of PATTERNS) {
    const match = pattern.exec(part);
    if (match === null) continue;
    const requirement = { text: part, ...build(match) };
    if (!isLabelKey(requirement.key))
      throw invalidSelector(text, `${quote(requirement.key)} is not a label key`);
    if (/\(\s*\)$/.test(part)) throw invalidSelector(text, `${quote(part)} has no values`);
    const bad = requirement.values.find((value) => !isLabelValue(value));
    if (bad !== undefined) throw invalidSelector(text, `${quote(bad)} is not a label value`);
    return requirement;
  }
  throw invalidSelector(
    text,
    `${quote(part)} is not one of key, !key, key=value, key!=value, key in (a,b)`,
  );
}

/** Whether labels meet all requirements. A missing label meets `notin`, as in Kubernetes. */
export function matchesLabels(
  selector: LabelSelector,
  labels: ReadonlyMap<string, string>,
): boolean {
  return selector.every(({ key, operator, values }) => {
    const value = labels.get(key);
    if (operator === 'exists') return value !== undefined;
    if (operator === 'absent') return value === undefined;
    if (operator === 'in') return value !== undefined && values.includes(value);
    return value === undefined || !values.includes(value);
  });
}

/**
 * Selectors that together match exactly what a selector does not match: one for each of its requirements, because a
 * selector can express "and", but not "or".
 */
export function negate(selector: LabelSelector): readonly string[] {
  return selector.map(({ key, operator, values }) => {
    if (operator === 'exists') return `!${key}`;
    if (operator === 'absent') return key;
    return operator === 'in' ? valuesSelector(key, '!=', values) : valuesSelector(key, '=', values);
  });
}

/** Selector for nodes whose label has one of these values, or (`!=`) does not. */
export function valuesSelector(
  key: string,
  operator: '=' | '!=',
  values: readonly string[],
): string {
  const [first = '', ...others] = values;
  if (others.length === 0) return `${key}${operator}${first}`;
  return `${key} ${operator === '=' ? 'in' : 'notin'} (${values.join(',')})`;
}

function invalidSelector(text: string, why: string): WrapperError {
  return new WrapperError('InvalidSettings', `invalid label selector ${quote(text)}: ${why}`);
}
