import { WrapperError } from '../../errors.ts';
import { MIN_READY_ANNOTATION, RETURN_DELAY_ANNOTATION } from './annotation-names.ts';
import { quote } from './quote.ts';
import { HOSTNAME_KEY } from './topology-keys.ts';

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };
/** A longer delay is probably a mistake, and timers cannot wait longer than 24 days. */
const MAX_RETURN_DELAY_MS = 24 * 3_600_000;

/** The ready endpoints that keys need, by key; empty without the annotation. Throws `InvalidPolicy`. */
export function minReadyOf(annotations: ReadonlyMap<string, string>): readonly [string, number][] {
  const text = annotations.get(MIN_READY_ANNOTATION);
  if (text === undefined) return [];
  const counts = parseJson(text);
  if (isCounts(counts)) return Object.entries(counts);
  throw new WrapperError(
    'InvalidPolicy',
    `${MIN_READY_ANNOTATION} is ${quote(text)}; write a JSON object of whole numbers from 1 on, such as ` +
      `'{"${HOSTNAME_KEY}":2}'`,
  );
}

/** The delay in milliseconds; undefined without the annotation. Throws `InvalidPolicy`. */
export function returnDelayOf(annotations: ReadonlyMap<string, string>): number | undefined {
  const text = annotations.get(RETURN_DELAY_ANNOTATION);
  if (text === undefined) return undefined;
  const [, count, unit = ''] = /^([0-9]{1,9})([smh])$/.exec(text.trim()) ?? [];
  const delay = Number(count) * (UNITS_MS[unit] ?? Number.NaN);
  if (delay <= MAX_RETURN_DELAY_MS) return delay;
  throw new WrapperError(
    'InvalidPolicy',
    `${RETURN_DELAY_ANNOTATION} is ${quote(text)}; write a time of at most 24h, such as 30s or 5m`,
  );
}

/** Undefined if the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isCounts(value: unknown): value is Record<string, number> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((count) => Number.isSafeInteger(count) && count >= 1);
}
