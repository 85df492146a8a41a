import type { Follower, ReceivedObject } from '../../../support/recorder/follow.ts';
import type { ReceivedRecord } from '../../../support/recorder/written-record.ts';
import { RELAY_NAMESPACE } from './relays.ts';

/** The API server's own Service and slice: they go and come with it. */
const KUBERNETES = 'default/kubernetes';

/** An object as a client receives it, as far as it is judged. */
export interface SeenObject extends ReceivedObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly endpoints?: readonly { readonly addresses: readonly string[] }[];
}

/** What a client is told about; called in the order in which the client applies it. */
export interface ClientListener {
  /** One object is another; undefined: it is gone. */
  changed(name: string, object: SeenObject | undefined): void;
  /** All that arrived together was applied. */
  applied(): void;
  /** The protocol was broken, such as a version that is not newer than the last one. */
  broken(what: string): void;
}

/** Keeps the objects of one query. It lives as long as the suite and never starts anew. */
export class KeptClient implements Follower<SeenObject> {
  readonly objects = new Map<string, SeenObject>();
  readonly #listener: ClientListener;
  #version = '0';

  constructor(listener: ClientListener) {
    this.#listener = listener;
  }

  applied(): void {
    this.#listener.applied();
  }

  receive(record: ReceivedRecord<SeenObject>): void {
    if (record.kind === 'list') this.#replace(record.items, record.version);
    else if (record.kind === 'event') this.#apply(record.type, record.object);
    else if (record.kind === 'bookmark') this.#advance(record.version, 'BOOKMARK');
    else if (record.kind === 'unreadable') this.#listener.broken(`not JSON: ${record.what}`);
  }

  #apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: SeenObject): void {
    const { resourceVersion } = object.metadata;
    const name = keyOf(object);
    this.#advance(resourceVersion, `${type} ${name}`);
    if (isOwn(object)) return;
    const had = this.objects.has(name);
    if (had === (type === 'ADDED')) {
      this.#listener.broken(`${type} of ${name}, which ${had ? 'is there' : 'is not there'}`);
    }
    if (type === 'DELETED') this.objects.delete(name);
    else this.objects.set(name, object);
    this.#listener.changed(name, this.objects.get(name));
  }

  #advance(version: string, what: string): void {
    if (BigInt(version) < BigInt(this.#version)) {
      this.#listener.broken(`${what} at ${version} after ${this.#version}`);
    }
    this.#version = version;
  }

  #replace(items: readonly SeenObject[], version: string): void {
    const listed = new Map(items.flatMap((item) => (isOwn(item) ? [] : [[keyOf(item), item]])));
    const names = new Set([...this.objects.keys(), ...listed.keys()]);
    this.#version = version;
    this.objects.clear();
    for (const [name, object] of listed) this.objects.set(name, object);
    for (const name of names) this.#listener.changed(name, listed.get(name));
  }
}

function keyOf({ metadata }: SeenObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** No history has it. */
function isOwn(object: SeenObject): boolean {
  return keyOf(object) === KUBERNETES || object.metadata.namespace === RELAY_NAMESPACE;
}
