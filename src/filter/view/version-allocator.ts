/** Number of versions between two upstream versions, for changes that only this process makes. */
export const STEP = 1_000_000_000n;
/** Changes begin in the lower half of a step. The upper half is for first states: see initial-version.ts. */
export const HALF_STEP = STEP / 2n;
/** A version of an API server is a revision of etcd, which is an int64. */
const MAX_UPSTREAM = String(2n ** 63n - 1n);

/**
 * The start offset grows by this per millisecond and wraps around after 1.4 hours. A process may make this many changes
 * under one upstream version for each millisecond until the next process starts.
 */
const OFFSET_PER_MS = 100;

/**
 * Allocates the resourceVersions of all views of this process. They are strictly increasing decimals:
 * `upstream × 10⁹ + offset`, plus one for each further change while the upstream version stays the same.
 *
 * The offset is the time at which the process started. So an earlier process has allocated other versions, even if the
 * upstream version is the same. A client that resumes from one of them gets 410.
 *
 * This is certain if the two starts are less than 1.4 hours apart and the first process makes few enough changes: fewer
 * than 100 under one upstream version per millisecond between the starts. Otherwise, or if the clock was set back,
 * versions can collide while the upstream version is the same. The probability for n changes is 2n in 10⁹.
 *
 * The upstream versions of all collections count, because they are revisions of one etcd. If they are not, versions
 * still only rise. Nothing else raises versions: no client and no other process.
 */
export class VersionAllocator {
  readonly #offset: bigint;
  #upstream = 0n;
  /** The lowest version under the upstream version. */
  #floor = 0n;
  #last = 0n;

  /** @param now time at which the process started, in milliseconds since the epoch */
  constructor(now: number) {
    this.#offset = BigInt(Math.floor(now * OFFSET_PER_MS)) % HALF_STEP;
    this.#floor = this.#offset;
  }

  /** Records a resourceVersion of the API server. One that is not a possible revision is ignored. */
  observe(resourceVersion: string): void {
    const version = parseUpstreamVersion(resourceVersion);
    if (version === undefined || version <= this.#upstream) return;
    this.#upstream = version;
    this.#floor = version * STEP + this.#offset;
  }

  /** Allocates a version above all earlier ones. */
  next(): bigint {
    this.#last = this.#floor > this.#last ? this.#floor : this.#last + 1n;
    return this.#last;
  }
}

/** {@link isUpstreamVersion} as a number; undefined: it is not one. */
export function parseUpstreamVersion(resourceVersion: string): bigint | undefined {
  return isUpstreamVersion(resourceVersion) ? BigInt(resourceVersion) : undefined;
}

/**
 * Whether an API server may have a resourceVersion: a decimal up to 2⁶³ - 1. Any other text is malformed wherever it
 * comes from. No API server ever reaches a position there.
 */
export function isUpstreamVersion(resourceVersion: string): boolean {
  return /^(0|[1-9][0-9]{0,18})$/.test(resourceVersion) && !isNewer(resourceVersion, MAX_UPSTREAM);
}

/** Whether a version is above another. Both are decimals without leading zeros; an empty one is below all. */
export function isNewer(version: string, than: string): boolean {
  return version.length === than.length ? version > than : version.length > than.length;
}

/** Reads a decimal resourceVersion of ours, without leading zeros; undefined for any other text. */
export function parseVersion(resourceVersion: string): bigint | undefined {
  if (!/^(0|[1-9][0-9]{0,30})$/.test(resourceVersion)) return undefined;
  return BigInt(resourceVersion);
}
