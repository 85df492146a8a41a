import { escapeUntrusted } from '../../untrusted-text.ts';
import { UsageError } from '../flags.ts';

/*
 * JSONPath templates as in kubectl: text, fields in braces, `range` and `end`.
 *
 *   {.services[*].service}   {range .services[*]}{.service}{"\t"}{.kept}{"\n"}{end}   {.ports[?(@.winner=="site")].port}
 *
 *   template = { text | "{" path "}" | "{" string "}" | "{range" path "}" template "{end}" }
 *   path     = [ "$" | "@" ] { "." name | ".." name | "." "*" | "[" index | "*" | slice | 'name' | filter "]" }
 *   filter   = "?(" path [ ("==" | "!=" | "<" | "<=" | ">" | ">=") literal ] ")"
 *
 * No library of this size has kubectl's dialect, and none of the usual ones evaluates filters without running code.
 */

/** Makes text from a value. */
export type Template = (value: unknown) => string;

/** Parses a template. A path without braces is accepted too. Throws UsageError. */
export function parseJsonPath(text: string): Template {
  const trimmed = text.trim();
  if (trimmed === '') throw invalid('it is empty');
  const source = trimmed.includes('{') ? text : `{${/^[.[$@]/.test(trimmed) ? '' : '.'}${trimmed}}`;
  const parts = split(source);
  const { render, rest } = parseParts(parts, 0);
  if (rest < parts.length) throw invalid('{end} without {range}');
  return (value) => render(value).join('');
}

type Part = { readonly text: string } | { readonly action: string };
type Render = (value: unknown) => string[];

function split(source: string): Part[] {
  const parts: Part[] = [];
  // A string in an action can contain braces.
  const pattern = /\{((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^{}"'])*)\}|([^{}]+)/y;
  while (pattern.lastIndex < source.length) {
    const at = pattern.lastIndex;
    const found = pattern.exec(source);
    if (found === null) throw invalid(`the brace at ${at + 1} has no counterpart`);
    const [, action, text = ''] = found;
    parts.push(action === undefined ? { text } : { action: action.trim() });
  }
  return parts;
}

/** Parses up to {end} or the end. `rest` is the index after the last part. */
function parseParts(parts: readonly Part[], from: number): { render: Render; rest: number } {
  const renders: Render[] = [];
  let index = from;
  for (; index < parts.length; index++) {
    const part = parts[index] as Part;
    if ('text' in part) renders.push(() => [part.text]);
    else if (part.action === 'end') break;
    else if (/^range\s/.test(part.action)) {
      const path = parsePath(part.action.slice('range'.length).trim());
      const inner = parseParts(parts, index + 1);
      if (inner.rest >= parts.length) throw invalid('{range} without {end}');
      index = inner.rest;
      renders.push((value) => path(value).flatMap((each) => inner.render(each)));
    } else renders.push(parseAction(part.action));
  }
  return { render: (value) => renders.flatMap((render) => render(value)), rest: index };
}

function parseAction(action: string): Render {
  if (/^["']/.test(action)) {
    const text = literalOf(action);
    return () => [String(text)];
  }
  const path = parsePath(action);
  return (value) => [path(value).map(print).join(' ')];
}

function print(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return escapeUntrusted(text, Number.POSITIVE_INFINITY);
}

type Path = (value: unknown) => unknown[];
type Step = (values: unknown[]) => unknown[];

const STEPS: readonly (readonly [RegExp, (match: RegExpExecArray) => Step])[] = [
  [
    /\.\.(\*|[\w-]+)/y,
    ([, name = '']) => each((value) => descendants(value).flatMap((one) => field(one, name))),
  ],
  [
    /\.(\*|(?:[\w/-]|\\.)+)/y,
    ([, name = '']) => each((value) => field(value, name.replaceAll('\\', ''))),
  ],
  [/\[\*\]/y, () => each((value) => field(value, '*'))],
  [
    /\[(-?\d+)\]/y,
    ([, index]) =>
      each((value) => (Array.isArray(value) ? value.slice(Number(index)).slice(0, 1) : [])),
  ],
  [/\[(-?\d*):(-?\d*)\]/y, ([, from, to]) => each((value) => slice(value, from, to))],
  [/\[('[^']*'|"[^"]*")\]/y, ([, name = '']) => each((value) => field(value, name.slice(1, -1)))],
  [/\[\?\(((?:"[^"]*"|'[^']*'|[^()"'])*)\)\]/y, ([, condition = '']) => filterStep(condition)],
];

function parsePath(text: string): Path {
  const steps: Step[] = [];
  let at = /^[$@]/.test(text) ? 1 : 0;
  // The whole value.
  if (text.slice(at) === '.') at++;
  while (at < text.length) {
    const step = stepAt(text, at);
    steps.push(step.step);
    at = step.end;
  }
  return (value) => steps.reduce<unknown[]>((values, step) => step(values), [value]);
}

function stepAt(text: string, at: number): { step: Step; end: number } {
  for (const [pattern, make] of STEPS) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) return { step: make(found), end: at + found[0].length };
  }
  throw invalid(`${JSON.stringify(text.slice(at))} is not a path, e.g. .services[*].service`);
}

function each(of: (value: unknown) => unknown[]): Step {
  return (values) => values.flatMap(of);
}

/** The value of a field, in a list. A missing field is left out. */
function field(value: unknown, name: string): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if (name === '*') return Object.values(value);
  if (Array.isArray(value) || !Object.hasOwn(value, name)) return [];
  return [(value as Record<string, unknown>)[name]];
}

function descendants(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value, ...Object.values(value).flatMap(descendants)];
}

function slice(value: unknown, from = '', to = ''): unknown[] {
  if (!Array.isArray(value)) return [];
  return value.slice(from === '' ? 0 : Number(from), to === '' ? undefined : Number(to));
}

/** Keeps the elements of a list that meet a condition. */
function filterStep(condition: string): Step {
  const [, left = '', operator, right = ''] =
    /^\s*(@.*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*$/.exec(condition) ?? [];
  if (left === '') throw invalid(`the filter ${JSON.stringify(condition)} must begin with @`);
  const path = parsePath(left);
  const wanted = operator === undefined ? undefined : literalOf(right);
  const meets = (element: unknown): boolean => {
    const [found] = path(element);
    return operator === undefined ? found !== undefined : compares(found, operator, wanted);
  };
  return each((value) => (Array.isArray(value) ? value.filter(meets) : []));
}

function compares(left: unknown, operator: string, right: unknown): boolean {
  if (operator === '==') return left === right;
  if (operator === '!=') return left !== right;
  if (typeof left !== typeof right) return false;
  const [a, b] = [left as string, right as string];
  return { '<': a < b, '<=': a <= b, '>': a > b, '>=': a >= b }[operator] === true;
}

function literalOf(text: string): unknown {
  if (text.startsWith("'") && text.endsWith("'") && text.length > 1) return text.slice(1, -1);
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(`${text} is not a string, a number, true or false`);
  }
}

function invalid(problem: string): UsageError {
  return new UsageError(`--output jsonpath: ${problem}`);
}
