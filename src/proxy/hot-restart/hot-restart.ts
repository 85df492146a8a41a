import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { type Query, queryPath } from '../api/query.ts';
import { addressText } from '../util/address.ts';
import { countListeners } from '../util/proc-net-tcp.ts';
import type { ViewLease } from '../views/view-registry.ts';

/** An address whose door may be shared with another process. */
export interface SharedAddress {
  readonly host: string;
  readonly port: number;
  readonly fd?: number;
}

const POLL_MS = 50;
/** Time between looks for a rival, in milliseconds … */
const RIVAL_POLL_MS = 60_000;
/** … which is one after so many; a successor listens beside its predecessor for less. */
const RIVAL_LOOKS = 5;

/**
 * Waits, when another process listens at one of the addresses, until this one can answer as well as that:
 * until the views are complete that its clients read there. From when this one listens, the kernel sends
 * it a share of the connections, and whoever came upon a view that is not complete would get 503.
 *
 * If the other process stops first, nothing is left to wait for: to listen, and to let requests wait, is
 * better than to refuse connections. When nobody listens at the start, this returns at once.
 * Rejects with the signal's reason when that aborts while it waits.
 */
export async function waitUntilReadyToListen(options: {
  readonly addresses: readonly SharedAddress[];
  /** What clients read there, as far as is known. */
  readonly queries: readonly Query[];
  readonly acquire: (query: Query) => ViewLease;
  readonly signal: AbortSignal;
  readonly logger: Logger;
}): Promise<void> {
  const { addresses, queries, acquire, signal, logger } = options;
  if (!othersListen(addresses)) return;
  const leases = queries.flatMap((query) => tryAcquire(acquire, query, logger));
  logger.info(
    { views: queries.map((query) => queryPath(query)) },
    'another process listens at this address; this one will when its views are complete',
  );
  // One that the API server does not take was never complete there either.
  const waiting = (): number =>
    leases.filter(({ view }) => !view.started && view.refusal === undefined).length;
  try {
    while (waiting() > 0 && othersListen(addresses)) {
      await delay(POLL_MS);
      signal.throwIfAborted();
    }
    if (waiting() > 0)
      logger.warn({ waiting: waiting() }, 'the other process has stopped too soon');
  } finally {
    for (const lease of leases) lease.release();
  }
}

/**
 * Waits until another process listens at the addresses too, so that this one can stop; at most `forMs`
 * milliseconds, or until the signal aborts.
 */
export async function waitForNextProcess(
  addresses: readonly SharedAddress[],
  forMs: number,
  signal: AbortSignal,
): Promise<void> {
  const shared = addresses.filter(canBeShared);
  const deadline = performance.now() + forMs;
  while (shared.length > 0 && performance.now() < deadline && !signal.aborted) {
    if (shared.every((address) => countListeners(address) > 1)) return;
    await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Warns, once, when another process goes on listening at these addresses, as where two DaemonSets bring a wrapper
 * each: the kernel spreads connections over both, and each knows nothing of the other's watches. Ends with the signal.
 * Never rejects.
 */
export async function warnOfSharedPort(options: {
  readonly addresses: readonly SharedAddress[];
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Time between looks, in milliseconds; default 60,000. */
  readonly pollMs?: number;
}): Promise<void> {
  const { addresses, signal, logger, pollMs = RIVAL_POLL_MS } = options;
  const shared = addresses.filter(canBeShared);
  try {
    for (let looks = 0; looks < RIVAL_LOOKS; ) {
      await delay(pollMs, undefined, { signal, ref: false });
      looks = shared.some((address) => countListeners(address) > 1) ? looks + 1 : 0;
    }
    const listen = shared.map(addressText);
    const said = 'another process goes on listening at an address of this one: end one of them';
    logger.warn({ listen }, said);
  } catch (error) {
    if (signal.aborted) return;
    const { message: err } = error as Error;
    logger.warn({ err }, 'whether another process listens at the same addresses is not known');
  }
}

function othersListen(addresses: readonly SharedAddress[]): boolean {
  return addresses.filter(canBeShared).some((address) => countListeners(address) > 0);
}

/** An inherited socket is listened at by systemd; a port of which any will do is shared with nobody. */
function canBeShared({ port, fd }: SharedAddress): boolean {
  return port !== 0 && fd === undefined;
}

function tryAcquire(
  acquire: (query: Query) => ViewLease,
  query: Query,
  logger: Logger,
): ViewLease[] {
  try {
    return [acquire(query)];
  } catch (error) {
    const { message } = WrapperError.from(error, 'NotReady');
    logger.warn({ err: message, view: queryPath(query) }, 'a view cannot be opened ahead');
    return [];
  }
}
