/** The key that the traffic of one address family and port goes to, and the keys that wait. */
export interface DelayedKey {
  /** Index of the key that traffic goes to. */
  readonly key: number;
  /** Nearer keys that have enough ready endpoints, each with the time since when, in milliseconds. */
  readonly since: ReadonlyMap<number, number>;
}

/** The return delay of a decision. */
export interface ReturnDelay {
  /** The delayed keys of the last decision, by `<family> <port>`; empty: this decision takes effect immediately. */
  readonly previous: ReadonlyMap<string, DelayedKey>;
  /** How long a nearer key must be ready before it wins again, in milliseconds. */
  readonly ms: number;
  /** The time of a monotonic clock, in milliseconds. */
  readonly now: number;
}

/**
 * Keeps the key that traffic uses until a nearer key has been ready for long enough. So an endpoint that fails and
 * recovers repeatedly does not move traffic back and forth. A key that is not ready is left immediately. Pure.
 *
 * @param previous undefined: the first choice, or no key was ready before; it has no delay
 * @param ready bit i for key i: it has enough ready endpoints
 */
export function nextDelay(
  previous: DelayedKey | undefined,
  ready: number,
  { ms, now }: Pick<ReturnDelay, 'ms' | 'now'>,
): DelayedKey | undefined {
  if (ready === 0) return undefined;
  const since = new Map<number, number>();
  if (previous === undefined) return { key: lowestBit(ready), since };
  for (let key = 0; key < previous.key; key++) {
    if ((ready & (1 << key)) === 0) continue;
    const start = previous.since.get(key) ?? now;
    if (now - start >= ms) return { key, since };
    since.set(key, start);
  }
  const further = ready & -(1 << previous.key);
  // No key but those that wait is ready: the nearest wins, and none waits any more.
  if (further === 0) return { key: lowestBit(ready), since: new Map() };
  return { key: lowestBit(further), since };
}

/** The next time at which a key has waited long enough, in milliseconds; undefined: no key waits. */
export function dueAt(
  delayed: ReadonlyMap<string, DelayedKey>,
  delayMs: number,
): number | undefined {
  let next: number | undefined;
  for (const { since } of delayed.values()) {
    for (const time of since.values()) next = Math.min(next ?? Infinity, time + delayMs);
  }
  return next;
}

/** Index of the lowest bit that is set. */
export function lowestBit(mask: number): number {
  return 31 - Math.clz32(mask & -mask);
}
