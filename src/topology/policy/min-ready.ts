import { WrapperError } from '../../errors.ts';
import { MIN_READY_ANNOTATION } from './annotation-names.ts';
import { quote } from './quote.ts';
import { HOSTNAME_KEY } from './topology-keys.ts';

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
