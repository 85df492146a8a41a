import type { ObjectBytes } from '../codec/codec.ts';
import type { View } from '../view/view.ts';
import type { EndpointsObject } from './endpoint-index.ts';
import type { ProjectedEndpoints } from './service-decider.ts';

/**
 * Writes endpoints objects as they are decided, and shows in a view what comes out different. Notes in each
 * object how it was shown last.
 */
export class EndpointsWriter {
  readonly #view: View;
  #suppressed = 0;
  #copied = 0;

  constructor(view: View) {
    this.#view = view;
  }

  /** Changes of an object that altered nothing clients see, so far. */
  get suppressed(): number {
    return this.#suppressed;
  }

  /** Bytes of objects as shown that are held beside the raw ones. */
  get copied(): number {
    return this.#copied;
  }

  /** Forgets an object that is no more. What is shown of it may stay for a moment. */
  forget(object: EndpointsObject): void {
    this.#noteCopy(object, 0);
  }

  /** Shows an object as decided; nothing happens where clients would see no difference. */
  show({ object, keep, managed }: ProjectedEndpoints): void {
    const cutHints = managed && object.hinted;
    // Another object of the same name is a new one.
    if (object.replaces) this.#view.delete(object.key);
    object.replaces = false;
    const shown = this.#view.get(object.key);
    if (shown !== undefined && this.#unchanged(object, shown, keep, cutHints, managed)) {
      if (object.fresh) {
        this.#suppressed++;
        object.fresh = false;
        object.exact = false;
      }
      object.keep = keep;
      object.cutHints = cutHints;
      object.managed = managed;
      this.#noteCopy(object, object.raw === shown ? 0 : shown.length);
      return;
    }
    this.#view.set(object.key, (version) => this.write({ object, keep, managed }, version));
  }

  /** Writes an object as decided, for a version of it that is about to be shown. */
  write({ object, keep, managed }: ProjectedEndpoints, resourceVersion: string): ObjectBytes {
    const { codec, resource } = this.#view;
    const cutHints = managed && object.hinted;
    const edit = { resourceVersion, cutHints, ...(keep === undefined ? {} : { keep }) };
    const written = codec.splice(resource, object.raw, edit);
    object.keep = keep;
    object.cutHints = cutHints;
    object.managed = managed;
    object.fresh = false;
    object.exact = true;
    // Nothing is cut, so that the bytes shown hold all there is to know: keep them once.
    if (keep === undefined && !cutHints) object.raw = written;
    this.#noteCopy(object, object.raw === written ? 0 : written.length);
    return written;
  }

  #noteCopy(object: EndpointsObject, bytes: number): void {
    this.#copied += bytes - object.copied;
    object.copied = bytes;
  }

  #unchanged(
    object: EndpointsObject,
    shown: ObjectBytes,
    keep: Uint8Array | undefined,
    cutHints: boolean,
    managed: boolean,
  ): boolean {
    // What no policy manages passes every change on.
    if (object.fresh && !managed) return false;
    const sameEdit = object.cutHints === cutHints && sameMask(object.keep, keep);
    if (!object.fresh) {
      // Other endpoints are other bytes: what is byte for byte the same is decided alike.
      if (!sameEdit) return false;
      if (managed || object.exact) return true;
    }
    const { codec, resource } = this.#view;
    const edit = { cutHints, ...(keep === undefined ? {} : { keep }) };
    if (managed) {
      const next = codec.semanticBytesAfter(resource, object.raw, edit);
      return next.equals(codec.semanticBytes(shown));
    }
    const next = codec.splice(resource, object.raw, { ...edit, resourceVersion: '0' });
    return next.equals(codec.splice(resource, shown, { resourceVersion: '0' }));
  }
}

function sameMask(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.length === b.length && a.every((value, index) => value === b[index]);
}
