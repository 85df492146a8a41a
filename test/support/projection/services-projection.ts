import type { ServiceFacts } from '../../../src/filter/codec/codec.ts';
import type { ChangeHandler } from '../../../src/filter/objects/change.ts';
import type { Batches } from '../../../src/filter/projection/batch.ts';
import { feedFirst } from '../../../src/filter/projection/feed-first.ts';
import { ObjectsProjection } from '../../../src/filter/projection/objects-projection.ts';
import {
  ServiceVisibility,
  type ServiceVisibilityOptions,
} from '../../../src/filter/projection/service-visibility.ts';
import type { View } from '../../../src/filter/view/view.ts';
import { notReentrant } from './not-reentrant.ts';

/** The projection of a view of Services, some of which are hidden, and its handler. */
export function servicesProjection({
  view,
  batches,
  feed,
  ...options
}: ServiceVisibilityOptions & {
  readonly view: View;
  readonly batches: Batches;
  readonly feed?: ChangeHandler<ServiceFacts> | undefined;
}) {
  const visibility = new ServiceVisibility(options);
  const objects = new ObjectsProjection(view, visibility);
  const projection = notReentrant(objects, ['hideBefore', 'apply', 'hide', 'show']);
  const shown = batches.addObjects(projection);
  return { projection, handler: feed === undefined ? shown : feedFirst(feed, projection, shown) };
}
