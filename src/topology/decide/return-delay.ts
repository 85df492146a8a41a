/** The state of one address family and port, read-only. */
export interface HeldKey {
  /** Index of the key that traffic goes to. */
  readonly key: number;
  /** Nearer keys that have enough ready endpoints, each with the time since when, in milliseconds. */
  readonly since: ReadonlyMap<number, number>;
}

interface Held extends HeldKey {
  key: number;
  readonly since: Map<number, number>;
}

/**
 * Holds the key that traffic uses until a nearer key has been ready for long enough. So an endpoint that fails and
 * recovers repeatedly does not move traffic back and forth. A key that is not ready is left immediately. Use one
 * instance for each Service and view. Discard it when the policy or own labels change, because the owner's decision
 * must take effect immediately.
 */
export class ReturnDelay {
  readonly #held = new Map<string, Held>();

  /**
   * Chooses a key for one family and port; -1 if no key is ready.
   *
   * @param ready bit i for key i: it has enough ready endpoints. After 0, the next choice has no delay.
   * @param now in milliseconds, from a monotonic clock
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

  /** Discards the ports that the Service no longer has: otherwise {@link next} would return their times forever. */
  keepOnly(ports: ReadonlySet<string>): void {
    for (const port of this.#held.keys()) if (!ports.has(port)) this.#held.delete(port);
  }

  /** The state of a family and port; undefined: not decided yet. */
  held(port: string): HeldKey | undefined {
    return this.#held.get(port);
  }

  /** The next time at which a key has waited long enough, in milliseconds; undefined: no key waits. */
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
