import type { ReadMemory } from '../../client/system/read-memory.ts';
import type { EndpointsProjection } from '../../filter/projection/endpoints-projection.ts';
import type { View } from '../../filter/view/view.ts';

/**
 * Reserves the bytes that a view is about to take.
 *
 * @param isListing they include a list that is being read
 */
export type ReserveBytes = (bytes: number, isListing: boolean) => void;

/** Memory of a log entry besides its object. */
const LOG_ENTRY_BYTES = 160;

/** What a view holds, and how it is reserved. */
export interface ViewMemoryOptions {
  readonly view: View;
  readonly projection: EndpointsProjection | undefined;
  /** A snapshot writer holds the raw objects too. */
  readonly hasSnapshots: boolean;
  readonly reserve: ReserveBytes;
}

/** Adds up the memory of a view: its list while it is read, its objects, their projections, and its log. */
export function createViewMemory(options: ViewMemoryOptions): ReadMemory {
  const { view, projection, hasSnapshots, reserve } = options;
  let held = { list: 0, objects: 0 };
  const resize = (next: typeof held): void => {
    const log = view.started ? view.log.bytes + view.log.size * LOG_ENTRY_BYTES : 0;
    const raw = hasSnapshots ? 2 * next.objects : next.objects;
    const shown = view.deadBytes + (projection?.copiedBytes ?? 0);
    reserve(next.list + raw + log + shown, next.list > 0);
    held = next;
  };
  return {
    reading: (list) => resize({ ...held, list }),
    objects: (objects) => resize({ ...held, objects }),
  };
}
