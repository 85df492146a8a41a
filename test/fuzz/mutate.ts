import fc from 'fast-check';

/** A way to damage bytes. A position is a fraction of the length, so that it fits any input. */
export type Mutation =
  | { readonly kind: 'flip'; readonly at: number; readonly bits: number }
  | { readonly kind: 'cut'; readonly at: number; readonly length: number }
  | { readonly kind: 'insert'; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: 'repeat'; readonly at: number; readonly length: number };

const share = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const length = fc.integer({ min: 1, max: 300 });

export const mutations: fc.Arbitrary<readonly Mutation[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('flip' as const),
      at: share,
      bits: fc.integer({ min: 1, max: 255 }),
    }),
    fc.record({ kind: fc.constant('cut' as const), at: share, length }),
    fc.record({
      kind: fc.constant('insert' as const),
      at: share,
      bytes: fc.uint8Array({ minLength: 1, maxLength: 12 }),
    }),
    fc.record({ kind: fc.constant('repeat' as const), at: share, length }),
  ),
  { minLength: 1, maxLength: 6 },
);

/** A copy with all mutations applied in order. */
export function mutate(bytes: Buffer, steps: readonly Mutation[]): Buffer {
  return steps.reduce(mutateOnce, Buffer.from(bytes));
}

function mutateOnce(bytes: Buffer, step: Mutation): Buffer {
  const at = Math.floor(step.at * bytes.length);
  switch (step.kind) {
    case 'flip': {
      const copy = Buffer.from(bytes);
      if (copy.length > 0) copy[at] = (copy[at] ?? 0) ^ step.bits;
      return copy;
    }
    case 'cut':
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + step.length)]);
    case 'insert':
      return Buffer.concat([bytes.subarray(0, at), step.bytes, bytes.subarray(at)]);
    case 'repeat': {
      const repeated = bytes.subarray(at, at + step.length);
      return Buffer.concat([bytes.subarray(0, at), repeated, bytes.subarray(at)]);
    }
  }
}
