/** Room between two upstream versions for changes that only this process knows of. */
const STEP = 1_000_000_000n;
/**
 * An upstream version is a revision of etcd, which is an int64. A larger one is not used: made from it, versions
 * would have more digits than clients can send back (see parseVersion).
 */
const MAX_UPSTREAM = 2n ** 63n - 1n;

/**
 * The start offset moves on by this in a millisecond, and comes round after 2.7 hours. A process may have made
 * so many changes under one upstream version for each millisecond until the next one starts.
 */
const OFFSET_PER_MS = 100;

/**
 * Hands out the resourceVersions of all views of this process: strictly increasing decimals, made as
 * `upstream × 10⁹ + offset`, plus one for each further change while the upstream version stands still.
 *
 * The offset is the time at which the process started. So an earlier process gave out other versions, even when
 * the upstream version has not moved since, and a client that resumes from one of those gets 410. That holds for
 * two starts less than 2.7 hours apart while the first process makes fewer than 100 changes under one upstream
 * version for each millisecond between them. After a longer time, or when the clock was set back, n changes meet
 * those of an earlier process with a chance of n in 10⁹, and only if the upstream version has not moved at all.
 *
 * The upstream versions of all collections count, since they are revisions of one etcd; where they are not,
 * versions still only rise. Nothing else raises versions: no client and no other process.
 */
export class VersionAllocator {
  readonly #offset: bigint;
  #upstream = 0n;
  #last = 0n;

  /** @param now time at which the process started, in milliseconds since the epoch */
  constructor(now: number) {
    this.#offset = BigInt(Math.floor(now * OFFSET_PER_MS)) % STEP;
  }

  /** Notes a resourceVersion of the API server; one that is not decimal, or not a possible revision, is ignored. */
  observe(resourceVersion: string): void {
    const version = parseVersion(resourceVersion);
    if (version === undefined || version > MAX_UPSTREAM) return;
    if (version > this.#upstream) this.#upstream = version;
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
