import { type Policy, samePolicy, UNKNOWN_SERVICE } from '../policy/policy.ts';

interface Entry {
  /** In force; undefined while the first policy of the Service is pending. */
  active: Policy | undefined;
  /** Comes into force once its node sets are known. */
  pending: Policy | undefined;
}

/**
 * The Services' policies: those in force, and those that wait for node sets. Indexes the Services by topology key, so
 * that a change of one key does not visit all Services.
 *
 * ```text
 *            set               activate             set                 activate
 *   absent ───────▶ pending ─────────────▶ active ───────▶ active and ────────────▶ active
 *                   (hidden)                                 pending
 *   any of them: set(undefined) ──▶ absent
 * ```
 */
export class PolicyStates {
  readonly #entries = new Map<string, Entry>();
  readonly #users = new Map<string, Set<string>>();
  readonly #pending = new Set<string>();

  /** Services with a pending policy. */
  get pending(): ReadonlySet<string> {
    return this.#pending;
  }

  /** All Services that have a policy. */
  services(): IterableIterator<string> {
    return this.#entries.keys();
  }

  /** Keys that any policy uses, in force or pending. */
  keysInUse(): IterableIterator<string> {
    return this.#users.keys();
  }

  /** Services whose policy, in force or pending, uses a key. */
  usersOf(key: string): ReadonlySet<string> {
    return this.#users.get(key) ?? EMPTY;
  }

  /** The policy in force for a Service; undefined while its first one is pending. */
  inForce(service: string): Policy | undefined {
    const entry = this.#entries.get(service);
    return entry === undefined ? UNKNOWN_SERVICE : entry.active;
  }

  /** Whether the first policy of a Service is pending. */
  awaitsFirst(service: string): boolean {
    return this.inForce(service) === undefined;
  }

  /** The latest policy of a Service, in force or pending. */
  wanted(service: string): Policy {
    const entry = this.#entries.get(service);
    return entry?.pending ?? entry?.active ?? UNKNOWN_SERVICE;
  }

  /** Sets a policy as pending; undefined: the Service was deleted. Returns whether anything changed. */
  set(service: string, policy: Policy | undefined): boolean {
    if (policy === undefined) return this.#remove(service);
    if (this.#entries.has(service) && samePolicy(this.wanted(service), policy)) return false;
    const entry = this.#entries.get(service) ?? { active: undefined, pending: undefined };
    const before = [...keysOf(entry)];
    entry.pending = policy;
    this.#entries.set(service, entry);
    this.#pending.add(service);
    this.#reindex(service, before, entry);
    return true;
  }

  /** Puts the pending policy of a Service in force, if there is one. */
  activate(service: string): void {
    const entry = this.#entries.get(service);
    if (entry?.pending === undefined) return;
    const before = [...keysOf(entry)];
    entry.active = entry.pending;
    entry.pending = undefined;
    this.#pending.delete(service);
    this.#reindex(service, before, entry);
  }

  /** Counts the Services by the source of their policy, or the reason for none: `annotation`, `headless`, … */
  countByKind(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const service of this.#entries.keys()) {
      const policy = this.wanted(service);
      const kind = policy.managed ? policy.source : policy.reason;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    return counts;
  }

  #remove(service: string): boolean {
    const entry = this.#entries.get(service);
    if (entry === undefined) return false;
    const before = [...keysOf(entry)];
    this.#entries.delete(service);
    this.#pending.delete(service);
    this.#reindex(service, before, undefined);
    return true;
  }

  #reindex(service: string, before: readonly string[], entry: Entry | undefined): void {
    const after = entry === undefined ? EMPTY : new Set(keysOf(entry));
    for (const key of before) {
      if (after.has(key)) continue;
      const users = this.#users.get(key);
      users?.delete(service);
      if (users?.size === 0) this.#users.delete(key);
    }
    for (const key of after) {
      const users = this.#users.get(key) ?? new Set();
      users.add(service);
      this.#users.set(key, users);
    }
  }
}

const EMPTY: ReadonlySet<string> = new Set();

function* keysOf({ active, pending }: Entry): Generator<string> {
  for (const policy of [active, pending]) if (policy?.managed === true) yield* policy.keys;
}
