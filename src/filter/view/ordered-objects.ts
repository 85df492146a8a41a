import type { Codec, ObjectBytes } from '../codec/codec.ts';
import { type ItemHead, ListPage } from './list-page.ts';

/** A page has at most so many bytes of objects, or one object. */
const PAGE_BYTES = 256 * 1024;

/** A page, and the objects from its first one to the next page; of the first page also those before it. */
interface Section {
  /** Undefined: there is none. */
  page: ListPage | undefined;
  readonly keys: string[];
  readonly objects: ObjectBytes[];
  /** Bytes of those that are not in the page. */
  beside: number;
}

/**
 * The objects of a view, in the order of their keys, as etcd has them.
 *
 * A list of them consists of pages, which all readers share, and which go to their sockets as they are. The objects
 * themselves are parts of these pages, so that a list costs no memory. Objects that have changed since interrupt a
 * page. If half of it is dead, the other objects leave it. If as much is beside it, all is written again. So changes of
 * half its size come before a new page, and the log has them as long as clients keep the old one.
 *
 * Until the first list, there are no pages.
 */
export class OrderedObjects {
  readonly #pageBytes: number;
  #objects = new Map<string, ObjectBytes>();
  /** Whether the objects may be in another order than their keys. */
  #unsorted = false;
  /** By the memory in which they are. */
  readonly #pages = new Map<ArrayBufferLike, ListPage>();
  #bytes = 0;
  #changes = 0;

  constructor(pageBytes = PAGE_BYTES) {
    this.#pageBytes = pageBytes;
  }

  /** Number of objects. */
  get size(): number {
    return this.#objects.size;
  }

  /** Total size of the objects in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes that they take besides: at most as many as their own. */
  get deadBytes(): number {
    let sum = 0;
    for (const { dead } of this.#pages.values()) sum += dead;
    return sum;
  }

  /** Rises with each change. */
  get changes(): number {
    return this.#changes;
  }

  get(key: string): ObjectBytes | undefined {
    return this.#objects.get(key);
  }

  /** In no order. */
  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  /** Adds or replaces an object. Returns the one before. */
  set(key: string, object: ObjectBytes): ObjectBytes | undefined {
    const before = this.#objects.get(key);
    this.#changes++;
    this.#objects.set(key, object);
    this.#bytes += object.length - (before?.length ?? 0);
    if (before === undefined) this.#unsorted = true;
    else this.#retire(before);
    return before;
  }

  /** Removes an object. Returns it. */
  delete(key: string): ObjectBytes | undefined {
    const before = this.#objects.get(key);
    if (before === undefined) return undefined;
    this.#changes++;
    this.#objects.delete(key);
    this.#bytes -= before.length;
    this.#retire(before);
    return before;
  }

  clear(): void {
    this.#changes++;
    this.#objects.clear();
    this.#pages.clear();
    this.#bytes = 0;
  }

  /** All objects in order. */
  inOrder(): ObjectBytes[] {
    this.#sort();
    return [...this.#objects.values()];
  }

  /** All objects in order as they stand in a list, each behind its head; see {@link Codec.encodeList}. */
  list(codec: Codec): Buffer[] {
    this.#sort();
    const headOf = headsOf(codec);
    const parts: Buffer[] = [];
    for (const section of this.#sections()) {
      for (const part of this.#listed(section, headOf)) parts.push(part);
    }
    return parts;
  }

  #retire(before: ObjectBytes): void {
    const page = this.#pages.get(before.buffer);
    if (page?.retire(before, this.#objects) === false) this.#pages.delete(before.buffer);
  }

  /** Sorts the objects themselves, so that it costs no memory, and nothing until another object is added. */
  #sort(): void {
    if (!this.#unsorted) return;
    const unsorted = this.#objects;
    this.#objects = new Map();
    // Without a comparator the sort of 10,000 keys is several times as fast.
    for (const key of [...unsorted.keys()].sort()) {
      this.#objects.set(key, unsorted.get(key) as ObjectBytes);
    }
    this.#unsorted = false;
  }

  #sections(): Section[] {
    let last: Section = { page: undefined, keys: [], objects: [], beside: 0 };
    const sections = [last];
    for (const [key, object] of this.#objects) {
      const page = this.#pages.get(object.buffer);
      if (page === undefined) last.beside += object.length;
      else if (last.page === undefined) last.page = page;
      else if (page !== last.page) {
        last = { page, keys: [], objects: [], beside: 0 };
        sections.push(last);
      }
      last.keys.push(key);
      last.objects.push(object);
    }
    return sections;
  }

  #listed(section: Section, headOf: ItemHead): readonly Buffer[] {
    const { page, objects, beside } = section;
    if (page !== undefined) {
      if (2 * beside <= page.memory.length) return page.listed(objects, headOf);
      this.#pages.delete(page.memory.buffer);
    }
    return cut(section, this.#pageBytes).map((keys) => {
      const written = new ListPage(this.#objects, keys, headOf);
      this.#pages.set(written.memory.buffer, written);
      return written.memory;
    });
  }
}

/** Cuts the keys of objects into pages. */
function cut({ keys, objects }: Section, pageBytes: number): string[][] {
  const pages: string[][] = [];
  let bytes = 0;
  for (const [at, key] of keys.entries()) {
    const { length } = objects[at] as ObjectBytes;
    bytes += length;
    const last = pages.at(-1);
    if (last !== undefined && bytes <= pageBytes) last.push(key);
    else {
      pages.push([key]);
      bytes = length;
    }
  }
  return pages;
}

/** The heads of one list. Objects of a kind have similar lengths, so there are few different ones. */
function headsOf(codec: Codec): ItemHead {
  const heads = new Map<number, Buffer>();
  return (bytes) => {
    let head = heads.get(bytes);
    if (head === undefined) {
      head = codec.itemHead(bytes);
      heads.set(bytes, head);
    }
    return head;
  };
}
