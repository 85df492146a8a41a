/** Room between two upstream versions for changes that only this process knows of. */
const STEP = 1_000_000_000n;

/**
 * The start offset moves on by this in a millisecond, and comes round after 2.7 hours. A process may have made
 * so many changes under one upstream version for each millisecond until the next one starts.
 */
const OFFSET_PER_MS = 100;

/**
 * Hands out the resourceVersions of all views of this process: strictly increasing decimals, made as
 * `upstream × 10⁹ + offset`, plus one for each further change while the upstream version stands still.
 *
 * The offset is the time at which the process started. It tells the versions of an earlier process apart
 * even when the upstream version has not moved since: a client that resumes from one of these has to list
 * anew, for nobody remembers what it has missed. The upstream versions of all collections count, since they
 * are revisions of one etcd; where they are not, versions still only rise.
 */
export class VersionClock {
  readonly #offset: bigint;
  #upstream = 0n;
  #last = 0n;

  /** @param now time at which the process started, in milliseconds since the epoch */
  constructor(now: number) {
    this.#offset = BigInt(Math.floor(now * OFFSET_PER_MS)) % STEP;
  }

  /** Notes a resourceVersion of the API server; what is not decimal is ignored. */
  observe(resourceVersion: string): void {
    const version = parseVersion(resourceVersion);
    if (version !== undefined && version > this.#upstream) this.#upstream = version;
  }

  /** Gives out none up to this one any more. */
  raise(version: bigint): void {
    if (version > this.#last) this.#last = version;
  }

  /** A version newer than any before. */
  next(): bigint {
    const floor = this.#upstream * STEP + this.#offset;
    this.#last = floor > this.#last ? floor : this.#last + 1n;
    return this.#last;
  }
}

/** Reads a decimal resourceVersion without leading zeros; undefined when it is none. */
export function parseVersion(resourceVersion: string): bigint | undefined {
  if (!/^(0|[1-9][0-9]{0,30})$/.test(resourceVersion)) return undefined;
  return BigInt(resourceVersion);
}
