import { ownedCopy } from '../codec/bytes/owned-copy.ts';
import type { ObjectBytes } from '../codec/codec.ts';
import type { InitialObject, View } from '../view/view.ts';
import { type EndpointsObject, rawOf } from './endpoint-index.ts';
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
  forget({ shown }: EndpointsObject): void {
    this.#copied -= shown?.copied ?? 0;
  }

  /** Removes an object from the view. */
  hide(object: EndpointsObject): void {
    this.#keepRaw(object);
    this.#view.delete(object.key);
    this.forget(object);
    object.shown = undefined;
  }

  /** Shows an object as it was decided; does nothing if clients would see no difference. */
  show(projected: ProjectedEndpoints): void {
    const { object } = projected;
    // A new object with the name of a deleted one: clients must see DELETED and ADDED.
    if (object.shown === undefined) this.#view.delete(object.key);
    const bytes = this.#view.get(object.key);
    if (bytes === undefined || !this.#isUnchanged(projected, bytes)) {
      if (!isUncut(projected)) this.#keepRaw(object);
      const raw = rawOf(object, this.#view);
      // The view was closed meanwhile, and has released its objects.
      if (raw === undefined) return;
      this.#setShownNew(projected, this.#view.set(object.key, raw, editOf(projected)));
      return;
    }
    if (object.isUncompared) this.#suppressed++;
    this.#setShown(projected, bytes);
  }

  /** Starts the view with these objects. */
  start(all: Iterable<ProjectedEndpoints>): void {
    this.#view.start(this.#initial(all));
  }

  /** Sets how each object is shown as soon as the view has it, so that its bytes are never there twice. */
  *#initial(all: Iterable<ProjectedEndpoints>): Generator<InitialObject> {
    for (const projected of all) {
      const { key, raw } = projected.object;
      yield [key, raw as ObjectBytes, editOf(projected)];
      this.#setShownNew(projected, this.#view.get(key) as ObjectBytes);
    }
  }

  #setShownNew(projected: ProjectedEndpoints, bytes: ObjectBytes): void {
    if (isUncut(projected)) projected.object.raw = undefined;
    this.#setShown(projected, bytes);
  }

  /** The view will not show an object exactly as it is. */
  #keepRaw(object: EndpointsObject): void {
    if (object.raw !== undefined) return;
    const shown = this.#view.get(object.key);
    object.raw = shown && ownedCopy(shown);
  }

  /** Sets how an object is shown now. */
  #setShown(projected: ProjectedEndpoints, bytes: ObjectBytes): void {
    const { object, keep, managed } = projected;
    const copied = object.raw === undefined ? 0 : bytes.length;
    this.forget(object);
    this.#copied += copied;
    object.isUncompared = false;
    object.shown = { keep, cutHints: cutsHints(projected), managed, copied };
  }

  #isUnchanged(projected: ProjectedEndpoints, bytes: ObjectBytes): boolean {
    const { object, managed } = projected;
    const { codec, resource } = this.#view;
    const { keep, cutHints } = object.shown ?? {};
    // The same bytes with another edit always differ. An equal mask is the same one, see ServiceDecider.
    if (!object.isUncompared) return keep === projected.keep && cutHints === cutsHints(projected);
    // An object that no policy manages passes every change on.
    if (!managed) return false;
    const raw = rawOf(object, this.#view) as ObjectBytes;
    const next = codec.edit(resource, raw, { ...editOf(projected), withoutNoise: true });
    return next.equals(codec.edit(resource, bytes, { withoutNoise: true }));
  }
}

/** Whether an object is shown as it is. */
function isUncut(projected: ProjectedEndpoints): boolean {
  return projected.keep === undefined && !cutsHints(projected);
}

/** Hints are cut from the objects of managed Services. */
function cutsHints({ object, managed }: ProjectedEndpoints): boolean {
  return managed && object.hinted;
}

function editOf(projected: ProjectedEndpoints): { cutHints: boolean; keep?: Uint8Array } {
  const { keep } = projected;
  return { cutHints: cutsHints(projected), keep };
}
