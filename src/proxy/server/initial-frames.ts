import type { ObjectBytes } from '../../filter/codec/codec.ts';
import type { View } from '../../filter/view/view.ts';
import { Blocks } from '../http/blocks.ts';

/** More than a frame adds to its object, in bytes. */
const FRAME_BYTES = 256;

/** The initial events of a watch in blocks of whole frames, each encoded when it is needed. */
export function initialFrames(view: View, items: readonly ObjectBytes[]): Blocks {
  const bytes = items.reduce((sum, { length }) => sum + length + FRAME_BYTES, 0);
  return new Blocks(encodeFrames(view, items), bytes);
}

function* encodeFrames(
  { codec, resource }: View,
  items: readonly ObjectBytes[],
): Generator<Buffer[], void> {
  for (const object of items) yield codec.encodeEventBuffers(resource, 'ADDED', object);
}
