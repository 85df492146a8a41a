import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Query } from '../client/api/query.ts';
import { parseQueries } from '../client/api/query-json.ts';
import { boundedRequest } from '../client/system/bounded-request.ts';
import { ownListeners } from '../client/system/proc-net-tcp.ts';
import { isShareable } from '../server/hot-restart/hot-restart.ts';
import type { ListenAddress } from '../util/address.ts';

/** Time for a response to arrive, in milliseconds. */
const RESPONSE_MS = 2_000;
/** Time for a flush of the snapshots, in milliseconds. */
const FLUSH_MS = 3_000;
/** Time between two checks of the last process, in milliseconds. */
const LAST_PROCESS_POLL_MS = 250;
/** Time for the last process to end once this one listens, in milliseconds. */
const END_MS = 15_000;

const WAITS_FOR_LIST =
  'the API server answers no list, but the previous process still receives changes: this process serves a snapshot ' +
  'only after the previous one has ended; check the API server';

/** See {@link createLastProcessFlush}. */
export interface FlushOptions {
  readonly logger: Pick<Logger, 'warn'>;
  /** Aborts when this process listens. */
  readonly listening: AbortSignal;
  /** Aborts when this process stops. */
  readonly stop: AbortSignal;
  /** Only a process of this user counts. Default: the user of this process. */
  readonly userId?: number | undefined;
}

/**
 * Reads from the process that already listens at the admin address which views it has open, so that this process can
 * open the same ones before it listens. Undefined: there is no such process, or it has reported none.
 *
 * Any local process can listen there while no wrapper runs. Therefore the response is limited in time, bytes and number
 * of views, and only decides what is opened early. Never rejects.
 */
export async function readOpenViews(
  admin: ListenAddress,
  nodeName: string,
): Promise<readonly Query[] | undefined> {
  if (!isShareable(admin)) return undefined;
  const signal = AbortSignal.timeout(RESPONSE_MS);
  const { status, body } = await boundedRequest({ ...admin, path: '/views', signal });
  const queries = status === 200 ? parseQueries(body.toString(), nodeName) : [];
  return queries.length === 0 ? undefined : queries;
}

/**
 * Returns a function for the snapshots of the process that listens at the admin address now. While that process
 * receives changes from the API server, any snapshot is older than what it shows. So the function waits for the end of
 * that, or of the process, and then makes it write its newest snapshots. Resolves when it has, when there is no such
 * process, or after some seconds. Never rejects: the snapshots on disk are then used as they are.
 */
export function createLastProcessFlush(
  admin: ListenAddress,
  { logger, listening, stop, userId = process.geteuid?.() }: FlushOptions,
): () => Promise<void> {
  const inodes = new Set(ownListeners(admin, userId).map(({ inode }) => inode));
  const isThere = (): boolean => ownListeners(admin, userId).some(({ inode }) => inodes.has(inode));
  const receivesChanges = async (): Promise<boolean> => RECEIVES.test(await versionOf(admin));
  return async () => {
    if (!isShareable(admin)) return;
    let endingMs = 0;
    for (let polls = 0; isThere() && !stop.aborted && endingMs < END_MS; polls++) {
      // If this process listens too, a request may reach itself. The other process ends then, and closes this port
      // last.
      if (listening.aborted) endingMs += LAST_PROCESS_POLL_MS;
      else if (!(await receivesChanges())) break;
      else if (polls === 0) logger.warn(WAITS_FOR_LIST);
      await delay(LAST_PROCESS_POLL_MS, undefined, { signal: stop }).catch(() => undefined);
    }
    const signal = AbortSignal.timeout(FLUSH_MS);
    await boundedRequest({ ...admin, path: '/flush', method: 'POST', signal });
  };
}

const RECEIVES = /"receivesChanges":true\b/;

/** The response of /version; empty if there is none. */
async function versionOf(admin: ListenAddress): Promise<string> {
  const signal = AbortSignal.timeout(RESPONSE_MS);
  const { status, body } = await boundedRequest({ ...admin, path: '/version', signal });
  return status === 200 ? body.toString() : '';
}
