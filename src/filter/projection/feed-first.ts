import type { ObjectMeta } from '../codec/codec.ts';
import type { ChangeHandler } from '../objects/change.ts';
import type { ViewHandler } from './batch.ts';
import type { ObjectsProjection } from './objects-projection.ts';

/**
 * Passes each change to a feed before the view: a policy must be active before clients see the change of its Service.
 * A hidden object that changes is not shown in its old state while the feed runs, in which the topology may show
 * Services or start the view.
 */
export function feedFirst<Facts extends ObjectMeta>(
  feed: ChangeHandler<Facts>,
  projection: ObjectsProjection<Facts>,
  handler: ViewHandler<Facts>,
): ViewHandler<Facts> {
  return {
    onChanges: (changes) => {
      projection.hideBefore(changes);
      feed.onChanges(changes);
      handler.onChanges(changes);
    },
    onSynced: () => {
      feed.onSynced();
      handler.onSynced();
    },
    close: () => handler.close(),
  };
}
