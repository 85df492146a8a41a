import type { Codec, ObjectBytes } from '../codec/codec.ts';
import type { Resource } from '../objects/resource.ts';

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

/** The objects of a view at one version. All that read it share it, and the body of a list of them. */
export class ViewState {
  readonly version: bigint;
  /** Position in the log from which a watcher continues after this state. */
  readonly position: number;
  readonly items: readonly ObjectBytes[];
  readonly #origin: StateOrigin;
  #list: ListBody | undefined;

  constructor(origin: StateOrigin, items: readonly ObjectBytes[]) {
    this.#origin = origin;
    this.version = origin.version;
    this.position = origin.position;
    this.items = items;
  }

  /** The body of a list of all objects, encoded once. */
  get list(): ListBody {
    this.#list ??= this.listOf(this.items);
    return this.#list;
  }

  /** The body of a list of these objects. */
  listOf(items: readonly ObjectBytes[]): ListBody {
    const { codec, resource, version } = this.#origin;
    const buffers = codec.encodeList(resource, String(version), items);
    return { ...bodyOf(buffers), state: this };
  }
}

export function bodyOf(buffers: readonly Buffer[]): Body {
  return { buffers, bytes: buffers.reduce((sum, { length }) => sum + length, 0) };
}
