import { type Policy, samePolicy, UNKNOWN_SERVICE } from '../policy/policy.ts';

interface PolicyEntry {
  /** Undefined while the first policy of the Service is not active yet. */
  active: Policy | undefined;
  /** Becomes active once its node sets are known. */
  pending: Policy | undefined;
  /** Undefined: decisions take the ports of the slices. */
  ports: readonly string[] | undefined;
}

/**
 * The Services' policies: the active ones, and the pending ones, which wait for node sets. Indexes the Services by
 * topology key, so that a change of one key does not visit all Services.
 *
 * ```text
 *            set                activate             set              activate
 *   absent ───────▶ pending ─────────────▶ active ───────▶ active and ─────────▶ active
 *                  (hidden)                                 pending
 *   any of them: set(undefined) ──▶ absent
 * ```
 */
export class PolicyStates {
  readonly #entries = new Map<string, PolicyEntry>();
  readonly #users = new Map<string, Set<string>>();
  readonly #withPending = new Set<string>();
  #relays = '';
  #revision = 0;

  /** Changes when other Services use a key. */
  get revision(): number {
    return this.#revision;
  }

  /** Services with a pending policy. */
  get withPending(): ReadonlySet<string> {
    return this.#withPending;
  }

  /** All Services that have a policy. */
  services(): IterableIterator<string> {
    return this.#entries.keys();
  }

  /** Keys that any policy uses, active or pending. */
  keysInUse(): IterableIterator<string> {
    return this.#users.keys();
  }

  /** Services whose policy, active or pending, uses a key. */
  usersOf(key: string): ReadonlySet<string> {
    return this.#users.get(key) ?? EMPTY;
  }

  /** Keys of the policy by which relays are found, active or pending. */
  get relayKeys(): readonly string[] {
    const entry = this.#entries.get(this.#relays);
    return entry === undefined ? [] : keysOf(entry);
  }

  /** The active policy of a Service; undefined while its first one is not active yet. */
  active(service: string): Policy | undefined {
    const entry = this.#entries.get(service);
    return entry === undefined ? UNKNOWN_SERVICE : entry.active;
  }

  /** Whether the first policy of a Service is not active yet. */
  awaitsFirst(service: string): boolean {
    return this.active(service) === undefined;
  }

  /** The pending policy of a Service, else the active one. */
  pendingOrActive(service: string): Policy {
    const entry = this.#entries.get(service);
    return entry?.pending ?? entry?.active ?? UNKNOWN_SERVICE;
  }

  /** The ports of a Service; undefined: it is not known, or decisions take the ports of its slices. */
  ports(service: string): readonly string[] | undefined {
    return this.#entries.get(service)?.ports;
  }

  /** Sets the ports of a Service that has a policy. Returns whether anything changed. */
  setPorts(service: string, ports: readonly string[] | undefined): boolean {
    const entry = this.#entries.get(service);
    if (entry === undefined || samePorts(entry.ports, ports)) return false;
    entry.ports = ports;
    return true;
  }

  /** Sets the pending policy; undefined: the Service was deleted. Returns whether anything changed. */
  set(service: string, policy: Policy | undefined): boolean {
    if (policy === undefined) return this.#remove(service);
    if (this.#entries.has(service) && samePolicy(this.pendingOrActive(service), policy))
      return false;
    const none = { active: undefined, pending: undefined, ports: undefined };
    const entry = this.#entries.get(service) ?? none;
    const before = keysOf(entry);
    if (policy.managed && policy.ofRelays === true) this.#relays = service;
    entry.pending = policy;
    this.#entries.set(service, entry);
    this.#withPending.add(service);
    this.#reindex(service, before, entry);
    return true;
  }

  /** Makes the pending policy of a Service active, if there is one. */
  activate(service: string): void {
    const entry = this.#entries.get(service);
    if (entry?.pending === undefined) return;
    const before = entry.active === undefined ? undefined : keysOf(entry);
    entry.active = entry.pending;
    entry.pending = undefined;
    this.#withPending.delete(service);
    if (before !== undefined) this.#reindex(service, before, entry);
  }

  /** Counts the Services by the source of their policy, or the reason for none: `annotation`, `headless`, … */
  countByKind(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const service of this.#entries.keys()) {
      const policy = this.pendingOrActive(service);
      const kind = policy.managed ? policy.source : policy.reason;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    return counts;
  }

  #remove(service: string): boolean {
    const entry = this.#entries.get(service);
    if (entry === undefined) return false;
    const before = keysOf(entry);
    this.#entries.delete(service);
    this.#withPending.delete(service);
    this.#reindex(service, before, undefined);
    return true;
  }

  #reindex(service: string, before: readonly string[], entry: PolicyEntry | undefined): void {
    this.#revision++;
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

function samePorts(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.length === b.length && a.every((port, index) => port === b[index]);
}

function keysOf({ active, pending }: PolicyEntry): string[] {
  return [active, pending].flatMap((policy) => (policy?.managed === true ? policy.keys : []));
}
