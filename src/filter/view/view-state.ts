import type { Codec, ObjectBytes } from '../codec/codec.ts';
import type { Resource } from '../objects/resource.ts';
import type { OrderedObjects } from './ordered-objects.ts';

/** Where a state comes from. */
interface StateOrigin {
  readonly codec: Codec;
  readonly resource: Resource;
  readonly version: bigint;
  readonly position: number;
}

/** The body of a response, to be written in order. */
export interface Body {
  readonly buffers: readonly Buffer[];
  readonly bytes: number;
}

/** The body of a list. Whoever writes it keeps it, so that others share its state. */
export interface ListBody extends Body {
  readonly state: ViewState;
}

/**
 * The objects of a view at one version. All that read it share it, and the body of a list of them. What is read of it
 * first is read before the next change of the view, or throws.
 */
export class ViewState {
  readonly version: bigint;
  /** Position in the log from which a watcher continues after this state. */
  readonly position: number;
  readonly #origin: StateOrigin;
  readonly #objects: OrderedObjects;
  readonly #changes: number;
  #items: readonly ObjectBytes[] | undefined;
  #list: ListBody | undefined;

  constructor(origin: StateOrigin, objects: OrderedObjects) {
    this.#origin = origin;
    this.version = origin.version;
    this.position = origin.position;
    this.#objects = objects;
    this.#changes = objects.changes;
  }

  /** All objects in order. */
  get items(): readonly ObjectBytes[] {
    this.#items ??= this.#current().inOrder();
    return this.#items;
  }

  /** The body of a list of all objects, encoded once. */
  get list(): ListBody {
    this.#list ??= this.#listOf(this.#current().list(this.#origin.codec));
    return this.#list;
  }

  /** The body of a list of one object, or of none. */
  listOf(item: ObjectBytes | undefined): ListBody {
    const { codec } = this.#origin;
    return this.#listOf(item === undefined ? [] : [codec.itemHead(item.length), item]);
  }

  #listOf(items: readonly Buffer[]): ListBody {
    const { codec, resource, version } = this.#origin;
    return { ...bodyOf(codec.encodeList(resource, String(version), items)), state: this };
  }

  #current(): OrderedObjects {
    if (this.#objects.changes !== this.#changes) throw new Error('the view has changed meanwhile');
    return this.#objects;
  }
}

export function bodyOf(buffers: readonly Buffer[]): Body {
  return { buffers, bytes: buffers.reduce((sum, { length }) => sum + length, 0) };
}
