import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Query, queryPath } from '../../client/api/query.ts';
import { ownListeners } from '../../client/system/proc-net-tcp.ts';
import { WrapperError } from '../../errors.ts';
import type { ViewLease } from '../../node/views/view-entry.ts';
import { addressText, type ListenAddress } from '../../util/address.ts';

/*
 * A planned restart, with handoverSeconds. Without it ports are not shared, and a second process ends with an error.
 * 1. The next process starts, and reads from the admin port of the old process which views it has open.
 * 2. It opens these views, waits until those of kube-proxy are complete (waitUntilReadyToListen), and listens on the
 *    same ports. No view is made from a snapshot while the old process receives changes (createLastProcessFlush).
 *    However long that takes, the old process serves: meanwhile the startup probe of the next one fails (listens.ts).
 * 3. The old process gets SIGTERM, waits until the next one listens (waitForNextProcess), and stops accepting.
 * 4. It ends its watches with a bookmark, and answers requests on open connections until they are drained.
 * 5. Clients connect to the next process. A watch that resumes there gets 410, and its client lists again.
 * 6. If two processes keep listening on one port, that is a mistake, which is logged (warnOfSharedPort).
 */

const TAKEOVER_POLL_MS = 50;
/** Time between two checks for a shared port, in milliseconds. */
const SHARED_PORT_POLL_MS = 60_000;
/** Warn after this many checks in a row. A planned restart takes less time. */
const SHARED_PORT_CHECKS = 5;

/**
 * If another process listens on one of the addresses, waits until the views that its clients need are complete in
 * this process too. As soon as this process listens, the kernel sends it a share of the new connections, and a view
 * that is not complete answers 503 after some seconds. So it may answer another client than kube-proxy, whatever that
 * client asks for: else a query that the API server does not answer would keep each next process waiting.
 *
 * Also resolves when the other process stops earlier: then it is better to listen and let requests wait than to
 * refuse connections. Resolves immediately if no other process listens.
 * Rejects with the reason of the signal if it aborts during the wait.
 */
export async function waitUntilReadyToListen(options: {
  readonly addresses: readonly ListenAddress[];
  /** What the clients of the other process read, as far as it is known. */
  readonly queries: readonly Query[];
  /** Whether the view of a query is waited for. All are opened. */
  readonly isNeeded: (query: Query) => boolean;
  readonly acquire: (query: Query) => ViewLease;
  readonly signal: AbortSignal;
  readonly logger: Logger;
}): Promise<void> {
  const { addresses, queries, isNeeded, acquire, signal, logger } = options;
  if (!anotherListens(addresses)) return;
  const open = (query: Query) => tryAcquire(acquire, query, logger);
  const needed = queries.filter(isNeeded).flatMap(open);
  const others = queries.filter((query) => !isNeeded(query)).flatMap(open);
  logger.info(
    { views: queries.map((query) => queryPath(query)) },
    'the previous process still listens here; this one starts when its views are complete',
  );
  const countWaiting = (): number => needed.filter(({ view }) => isAwaited(view)).length;
  try {
    while (countWaiting() > 0 && anotherListens(addresses)) {
      await delay(TAKEOVER_POLL_MS);
      signal.throwIfAborted();
    }
    const waiting = countWaiting();
    if (waiting > 0) {
      logger.warn(
        { waiting },
        'the other process has stopped too soon: requests wait until the views are complete',
      );
    }
  } finally {
    for (const lease of [...needed, ...others]) lease.release();
  }
}

/**
 * Waits until another process also listens on each of the addresses, so that this one can stop. Waits at most
 * `maxMs` milliseconds, and not after the signal aborts.
 */
export async function waitForNextProcess(
  addresses: readonly ListenAddress[],
  maxMs: number,
  signal: AbortSignal,
): Promise<void> {
  const shareable = addresses.filter(isShareable);
  const deadline = performance.now() + maxMs;
  while (shareable.length > 0 && performance.now() < deadline && !signal.aborted) {
    if (shareable.every((address) => ownListeners(address).length > 1)) return;
    await delay(TAKEOVER_POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Warns once if another process keeps listening on these addresses, for example because two DaemonSets each start a
 * wrapper. The kernel then distributes connections over both, and a watch of one cannot resume in the other. Returns
 * when the signal aborts. Never rejects.
 *
 * @param pollMs time between two checks, in milliseconds
 */
export async function warnOfSharedPort(
  addresses: readonly ListenAddress[],
  logger: Logger,
  signal: AbortSignal,
  pollMs = SHARED_PORT_POLL_MS,
): Promise<void> {
  const shareable = addresses.filter(isShareable);
  try {
    for (let shared = 0; shared < SHARED_PORT_CHECKS; ) {
      await delay(pollMs, undefined, { signal, ref: false });
      shared = shareable.some((address) => ownListeners(address).length > 1) ? shared + 1 : 0;
    }
    logger.warn(
      { listen: shareable.map(addressText) },
      'another process keeps listening on an address of this one; stop one of them',
    );
  } catch (error) {
    if (signal.aborted) return;
    const { message: err } = error as Error;
    logger.warn({ err }, 'cannot check whether another process listens on the same addresses');
  }
}

/**
 * Whether the other process may have what this one has not. A view that the API server refuses was never complete there
 * either. One that a relay refuses because the API server does not answer it may be.
 */
function isAwaited({ started, refusal }: ViewLease['view']): boolean {
  return !started && (refusal === undefined || refusal.code === 'Unreachable');
}

function anotherListens(addresses: readonly ListenAddress[]): boolean {
  return addresses.filter(isShareable).some((address) => ownListeners(address).length > 0);
}

/** A port that the kernel chooses belongs to one process. */
export function isShareable({ port, reusePort }: ListenAddress): boolean {
  return reusePort === true && port !== 0;
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
    logger.warn({ err: message, view: queryPath(query) }, 'cannot open a view before listening');
    return [];
  }
}
