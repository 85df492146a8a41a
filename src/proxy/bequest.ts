import type { ServerResponse } from 'node:http';
import { Digests } from './digests.ts';
import { writeLastStates } from './last-states.ts';
import type { ViewSource } from './view-source.ts';

/** So many successors may wait; there is one, unless somebody plays with the admin port. */
const MAX_HEIRS = 4;

/**
 * What this process leaves to the next one: which state of each view its clients have seen last, so that their
 * watches can go on there. Told at the moment at which the watches end, and not before: until then, it changes.
 */
export class Bequest {
  readonly #nodeName: string;
  readonly #sources: () => readonly ViewSource[];
  #digests = new Digests();
  readonly #heirs = new Set<ServerResponse>();
  #told = false;

  /** @param sources the views that are open */
  constructor(nodeName: string, sources: () => readonly ViewSource[]) {
    this.#nodeName = nodeName;
    this.#sources = sources;
  }

  /** Whether somebody has been told: clients shall go there, and find nothing here any more. */
  get told(): boolean {
    return this.#told;
  }

  /** Answers a successor, later; false: too many wait. */
  add(response: ServerResponse): boolean {
    if (this.#heirs.size >= MAX_HEIRS) return false;
    this.#heirs.add(response);
    response.once('close', () => this.#gone(response));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    void this.#digests.prepare(this.#sources(), () => this.#heirs.size > 0);
    return true;
  }

  /** Tells those who wait what each view shows now. */
  tell(): void {
    if (this.#heirs.size === 0) return;
    const text = writeLastStates(this.#nodeName, this.#sources(), this.#digests);
    for (const heir of this.#heirs) heir.end(text);
    this.#told = true;
  }

  #gone(heir: ServerResponse): void {
    this.#heirs.delete(heir);
    if (this.#heirs.size === 0) this.#digests = new Digests();
  }
}
