/** What is remembered of one address family and port, to be looked at only. */
export interface HeldKey {
  /** Index of the key that traffic goes to. */
  readonly key: number;
  /** Since when each key nearer than that counts, in milliseconds; only those that do. */
  readonly since: ReadonlyMap<number, number>;
}

interface Held extends HeldKey {
  key: number;
  readonly since: Map<number, number>;
}

/**
 * Keeps traffic where it is until a nearer key has been ready for long enough, so that an endpoint that
 * comes and goes does not move it back and forth. Moving away is immediate: a key that is not ready is
 * never kept. One instance for each Service and view; forget it when the policy or own labels change, for
 * what the owner decides needs no delay.
 */
export class ReturnDelay {
  readonly #held = new Map<string, Held>();

  /**
   * Chooses a key for one family and port; -1 when none is ready.
   *
   * @param ready bit i for key i: it has enough ready endpoints; with none the next choice is free
   * @param now in milliseconds, of a clock that never goes back
   */
  choose(port: string, ready: number, delayMs: number, now: number): number {
    const held = this.#held.get(port);
    if (ready === 0) {
      this.#held.delete(port);
      return -1;
    }
    if (held === undefined) return this.#hold(port, lowestBit(ready), new Map());
    for (const key of held.since.keys()) if ((ready & (1 << key)) === 0) held.since.delete(key);
    for (let key = 0; key < held.key; key++) {
      if ((ready & (1 << key)) === 0) continue;
      const since = held.since.get(key) ?? now;
      held.since.set(key, since);
      if (now - since >= delayMs) return this.#hold(port, key, held.since);
    }
    const further = ready & -(1 << held.key);
    return this.#hold(port, lowestBit(further === 0 ? ready : further), held.since);
  }

  /** Forgets the ports that the Service no longer has: what waits there would wait for ever. */
  keepOnly(ports: ReadonlySet<string>): void {
    for (const port of this.#held.keys()) if (!ports.has(port)) this.#held.delete(port);
  }

  /** What is held of a family and port; undefined: nothing was decided yet. */
  held(port: string): HeldKey | undefined {
    return this.#held.get(port);
  }

  /** When a key that waits will have waited long enough, in milliseconds; undefined: none waits. */
  next(delayMs: number): number | undefined {
    let next: number | undefined;
    for (const { since } of this.#held.values()) {
      for (const time of since.values()) next = Math.min(next ?? Infinity, time + delayMs);
    }
    return next;
  }

  #hold(port: string, key: number, since: Map<number, number>): number {
    for (const nearer of since.keys()) if (nearer >= key) since.delete(nearer);
    this.#held.set(port, { key, since });
    return key;
  }
}

/** Index of the lowest bit that is set. */
export function lowestBit(mask: number): number {
  return 31 - Math.clz32(mask & -mask);
}
