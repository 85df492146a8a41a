import { printLine } from '../untrusted-text.ts';

/** Width of the longest level. */
const LEVEL_WIDTH = 5;
/** Values without these characters need no quotes. */
const PLAIN = /^[^\s"=,]+$/;

/**
 * Formats a log line, a JSON object, for people: time, level, message, and then the other fields as `name=value`. The
 * name of the node is left out, because it is the same in all lines.
 */
export function formatLogLine(json: string): string {
  const { time, level, msg, node: _node, err, ...fields } = JSON.parse(json) as LogLine;
  const text = Object.entries(fields).map(([name, value]) => `${name}=${formatValue(value)}`);
  const error = err === undefined ? [] : [`err=${formatValue(messageOf(err))}`];
  const head = `${time} ${level.toUpperCase().padEnd(LEVEL_WIDTH)} ${msg ?? ''}`;
  return printLine([head, ...text, ...error].join('  ').trimEnd());
}

interface LogLine {
  readonly time: string;
  readonly level: string;
  readonly msg?: string;
  readonly node?: unknown;
  readonly err?: unknown;
  readonly [field: string]: unknown;
}

/** An error with a stack: its stack names the message too. */
function messageOf(err: unknown): unknown {
  if (typeof err !== 'object' || err === null) return err;
  const { stack, message } = err as { stack?: unknown; message?: unknown };
  return stack ?? message ?? err;
}

function formatValue(value: unknown): string {
  if (Array.isArray(value) && value.length > 0 && value.every(isPlain)) return value.join(',');
  if (isPlain(value)) return String(value);
  return JSON.stringify(value) ?? '';
}

function isPlain(value: unknown): boolean {
  if (typeof value === 'number' || typeof value === 'boolean') return true;
  return typeof value === 'string' && PLAIN.test(value);
}
