import type { ObjectBytes } from '../codec/codec.ts';
import type { InitialObject, View } from '../view/view.ts';
import type { EndpointsObject } from './endpoint-index.ts';
import type { ProjectedEndpoints } from './service-decider.ts';

/**
 * Writes endpoints objects as they were decided, and shows in a view those that differ. Records in each object how it
 * was shown last.
 */
export class EndpointsWriter {
  readonly #view: View;
  #suppressed = 0;
  #copied = 0;

  constructor(view: View) {
    this.#view = view;
  }

  /** Changes of objects that altered nothing clients see, so far. */
  get suppressed(): number {
    return this.#suppressed;
  }

  /** Bytes of projected objects that are kept beside the raw ones. */
  get copied(): number {
    return this.#copied;
  }

  /** Forgets an object that no longer exists. The view may show it a moment longer. */
  forget(object: EndpointsObject): void {
    this.#recordCopy(object, 0);
  }

  /** Shows an object as it was decided; does nothing if clients would see no difference. */
  show(projected: ProjectedEndpoints): void {
    const { object } = projected;
    // A new object with the name of a deleted one: clients must see DELETED and ADDED.
    if (object.replaces) this.#view.delete(object.key);
    object.replaces = false;
    const shown = this.#view.get(object.key);
    if (shown === undefined || !this.#isUnchanged(projected, shown)) {
      this.#record(projected, this.#view.set(object.key, object.raw, editOf(projected)));
      return;
    }
    if (object.isNew) this.#suppressed++;
    this.#recordEdit(projected);
    this.#recordCopy(object, object.raw === shown ? 0 : shown.length);
  }

  /** Starts the view with these objects. */
  start(all: Iterable<ProjectedEndpoints>): void {
    this.#view.start(this.#initial(all));
  }

  /** Records each object as soon as the view has it, so that its bytes are never there twice. */
  *#initial(all: Iterable<ProjectedEndpoints>): Generator<InitialObject> {
    for (const each of all) {
      const { key, raw } = each.object;
      yield [key, raw, editOf(each)];
      this.#record(each, this.#view.get(key) as ObjectBytes);
    }
  }

  /** Records how an object is shown now. */
  #record(projected: ProjectedEndpoints, shown: ObjectBytes): void {
    const { object } = projected;
    this.#recordEdit(projected);
    // Nothing is cut, so the bytes shown contain everything: keep them once.
    if (projected.keep === undefined && !object.cutHints) object.raw = shown;
    this.#recordCopy(object, object.raw === shown ? 0 : shown.length);
  }

  #recordEdit(projected: ProjectedEndpoints): void {
    const { object, keep, managed } = projected;
    object.isNew = false;
    object.keep = keep;
    object.managed = managed;
    object.cutHints = cutsHints(projected);
  }

  #recordCopy(object: EndpointsObject, bytes: number): void {
    this.#copied += bytes - object.copied;
    object.copied = bytes;
  }

  #isUnchanged(projected: ProjectedEndpoints, shown: ObjectBytes): boolean {
    const { object, keep, managed } = projected;
    const { codec, resource } = this.#view;
    const edit = editOf(projected);
    // The same bytes with another edit always differ.
    if (!object.isNew) return object.cutHints === edit.cutHints && sameMask(object.keep, keep);
    // An object that no policy manages passes every change on.
    if (!managed) return false;
    const next = codec.edit(resource, object.raw, { ...edit, withoutNoise: true });
    return next.equals(codec.edit(resource, shown, { withoutNoise: true }));
  }
}

/** Hints are cut from the objects of managed Services. */
function cutsHints({ object, managed }: ProjectedEndpoints): boolean {
  return managed && object.hinted;
}

function editOf(projected: ProjectedEndpoints): { cutHints: boolean; keep?: Uint8Array } {
  const { keep } = projected;
  return { cutHints: cutsHints(projected), keep };
}

function sameMask(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.length === b.length && a.every((value, index) => value === b[index]);
}
