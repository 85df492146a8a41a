import { hash } from 'node:crypto';
import { setImmediate as otherWork } from 'node:timers/promises';
import type { ObjectBytes } from '../filter/codec.ts';
import type { View } from '../filter/view.ts';
import type { ViewSource } from './view-source.ts';

/** So many objects are digested before other work has its turn. */
const BATCH = 50;

/**
 * Digests of what views show, of all that matters to a client: two processes may know different metadata of what they
 * show alike. Each is remembered by the bytes of the object, which never change once they are shown: an object that
 * changes is written anew (`Codec.splice`). Takes 90 bytes for an object.
 */
export class Digests {
  readonly #known = new WeakMap<ObjectBytes, string>();

  /** The digest of an object as a view shows it; undefined when it does not. */
  of(view: View, key: string): string | undefined {
    const object = view.get(key);
    if (object === undefined) return undefined;
    const known = this.#known.get(object);
    if (known !== undefined) return known;
    const digest = hash('sha1', view.codec.significant(object), 'base64');
    this.#known.set(object, digest);
    return digest;
  }

  /**
   * Digests ahead what is shown, so that at the moment at which nothing else is answered only what has changed since is
   * left to do; ends early when that is not needed any more. Never rejects.
   */
  async prepare(sources: readonly ViewSource[], isNeeded: () => boolean): Promise<void> {
    let count = 0;
    try {
      for (const { view } of sources) {
        for (const key of view.keys()) {
          this.of(view, key);
          if (++count % BATCH > 0) continue;
          await otherWork();
          if (!isNeeded()) return;
        }
      }
    } catch {
      // Where the digest is asked for it fails again, and is told.
    }
  }
}
