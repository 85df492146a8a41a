import type { ServiceFacts } from '../../../src/filter/codec/codec.ts';
import type { ChangeHandler } from '../../../src/filter/codec/facts/change.ts';
import { ObjectsProjection } from '../../../src/filter/projection/objects-projection.ts';
import {
  ServiceVisibility,
  type ServiceVisibilityOptions,
} from '../../../src/filter/projection/service-visibility.ts';
import type { View } from '../../../src/filter/view/view.ts';

/** The projection of a view of Services, some of which are hidden. */
export function servicesProjection({
  view,
  feed,
  ...options
}: Omit<ServiceVisibilityOptions, 'codec'> & {
  readonly view: View;
  readonly feed?: ChangeHandler<ServiceFacts> | undefined;
}): ObjectsProjection<ServiceFacts> {
  const { topology } = options;
  const visibility = new ServiceVisibility({ ...options, codec: view.codec });
  return new ObjectsProjection({ view, visibility, topology, feed });
}
