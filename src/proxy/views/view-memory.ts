import type { EndpointsProjection } from '../../filter/projection/endpoints-projection.ts';
import type { View } from '../../filter/view/view.ts';
import type { ReadMemory } from '../util/read-memory.ts';

/** Pays for what a view takes in memory. */
export interface ViewPayer {
  /** Called with the bytes that the view is about to take. What it throws ends the view, which it has closed. */
  pay(bytes: number): void;
}

/** Memory of a log entry besides its object. */
const ENTRY_BYTES = 160;

/** What a view holds, and who pays for it. */
export interface ViewMemoryOptions {
  readonly view: View;
  readonly projection: EndpointsProjection | undefined;
  /** A snapshot writer holds the raw objects too. */
  readonly hasSnapshots: boolean;
  readonly payer: ViewPayer;
}

/** Adds up the memory of a view: its list while it is read, its objects, their projections, and its log. */
export function createViewMemory(options: ViewMemoryOptions): ReadMemory {
  const { view, projection, hasSnapshots, payer } = options;
  let held = { list: 0, objects: 0 };
  const pay = (next: typeof held): void => {
    const log = view.started ? view.log.bytes + view.log.size * ENTRY_BYTES : 0;
    const raw = hasSnapshots ? 2 * next.objects : next.objects;
    payer.pay(next.list + raw + log + (projection?.copiedBytes ?? 0));
    held = next;
  };
  return {
    reading: (list) => pay({ ...held, list }),
    objects: (objects) => pay({ ...held, objects }),
  };
}
