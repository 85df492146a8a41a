import { ownedCopy } from '../codec/bytes/owned-copy.ts';
import type { ObjectBytes } from '../codec/codec.ts';

/** What is before an item of so many bytes in a list. */
export type ItemHead = (bytes: number) => Buffer;

/** Objects by key, whose order is that of a list. */
export type Objects = Map<string, ObjectBytes>;

/**
 * A part of a list in one memory, of which its objects are parts. What is in this memory never changes, because clients
 * that read slowly share it.
 */
export class ListPage {
  readonly memory: Buffer;
  /** Of all objects that were written. */
  readonly #keys: readonly string[];
  /** Bytes of the objects that are still here. */
  #live = 0;

  /** Writes objects, which become parts of the page. */
  constructor(objects: Objects, keys: readonly string[], headOf: ItemHead) {
    const all = keys.map((key) => objects.get(key) as ObjectBytes);
    const heads = all.map(({ length }) => headOf(length));
    const bytes = all.reduce(
      (sum, { length }, at) => sum + length + (heads[at] as Buffer).length,
      0,
    );
    const memory = Buffer.allocUnsafeSlow(bytes);
    let end = 0;
    for (const [at, object] of all.entries()) {
      end += (heads[at] as Buffer).copy(memory, end);
      end += object.copy(memory, end);
      objects.set(keys[at] as string, memory.subarray(end - object.length, end));
      this.#live += object.length;
    }
    this.memory = memory;
    this.#keys = keys;
  }

  /** Bytes of its memory in which there is no object any more. */
  get dead(): number {
    return this.memory.length - this.#live;
  }

  /**
   * An object of this page has been replaced or removed. If half of the page is dead then, the other objects leave it.
   * Returns whether any is left.
   */
  retire(object: ObjectBytes, objects: Objects): boolean {
    this.#live -= object.length;
    if (this.#live > 0 && 2 * this.#live >= this.memory.length) return true;
    for (const key of this.#keys) {
      const left = objects.get(key);
      if (left?.buffer === this.memory.buffer) objects.set(key, ownedCopy(left));
    }
    return false;
  }

  /** A part of a list, to be written in order: what is left of this page, and the objects that are beside it. */
  listed(all: readonly ObjectBytes[], headOf: ItemHead): Buffer[] {
    const { memory } = this;
    const parts: Buffer[] = [];
    let start = 0;
    let end = 0;
    const endSpan = (): void => {
      if (end > start) parts.push(memory.subarray(start, end));
      start = end;
    };
    for (const object of all) {
      const head = headOf(object.length);
      if (object.buffer !== memory.buffer) {
        endSpan();
        parts.push(head, object);
        continue;
      }
      const at = object.byteOffset - memory.byteOffset;
      if (at - head.length !== end) {
        endSpan();
        start = at - head.length;
      }
      end = at + object.length;
    }
    endSpan();
    return parts;
  }
}
