import type { View } from '../../../src/filter/view/view.ts';

/** What a view shows of one Service: key of the object → the bytes that count. */
export type Seen = ReadonlyMap<string, string>;

export function isSame(a: Seen, b: Seen): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (b.get(key) !== value) return false;
  return true;
}

/** Throws an error that names what a view shows and what it may show. */
export function failWith(
  when: string,
  view: View,
  service: string,
  seen: Seen,
  allowed: Seen[],
): never {
  const inShort = (state: Seen) =>
    JSON.stringify(
      [...state].map(([key, text]) => [
        key,
        text.match(/(10\.0\.0\.|fd00::)\d/g),
        text.includes('z1"}'),
      ]),
    );
  const options = [...new Set(allowed.map(inShort))].join('\n or ');
  throw new Error(
    `${when} ${view.codec.encoding} ${view.resource.plural} of ${service} are\n    ${inShort(seen)}\n not ${options}`,
  );
}
