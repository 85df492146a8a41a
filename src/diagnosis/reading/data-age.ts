import type { ReflectorStatus } from '../../client/reflector/reflector.ts';
import type { Upstream } from '../../client/upstream/upstream.ts';
import { least } from '../../util/extremes.ts';
import type { Collections, SourceReading } from './collections.ts';

/**
 * - `connected`: all watches are open or being opened, and the API server has sent a byte lately
 * - `quiet`: all watches are open, and it has sent nothing for a while; a PING, or TCP keep-alive over HTTP/1.1,
 *   decides within 35 s
 * - `interrupted`: a collection is not watched, because that failed or takes long
 * - `unreachable`: none is
 * - `snapshot`: it has sent nothing since the start, and its last state is shown from disk
 */
export type DataState = 'connected' | 'quiet' | 'interrupted' | 'unreachable' | 'snapshot';

/** How old the data is that decisions are made from. */
export interface DataAge {
  readonly state: DataState;
  /**
   * Time since the last byte for the collection that is worst off, in whole seconds. An answer to a PING counts. Of a
   * snapshot: since it was written.
   */
  readonly ageSeconds: number;
  /** There is no data yet: no collection has been read since the start, not even from disk. `ageSeconds` is 0 then. */
  readonly missing?: true;
  /** Since when no watch at the API server has been open, ISO 8601; undefined: at least one is open. */
  readonly unreachableSince?: string;
  /** When the oldest snapshot that is shown was written, ISO 8601; undefined: nothing is shown from disk. */
  readonly snapshotFrom?: string;
  /** Why it is old; undefined: all collections are watched, or were until {@link GRACE_MS} ago. */
  readonly cause?: string;
  /** A sentence for people about old data; undefined as {@link cause}. */
  readonly warning?: string;
}

/** An interruption that is shorter than this changes neither the readiness nor the warning, in milliseconds. */
export const GRACE_MS = 10_000;

/** The age of the data in all collections that this process needs. */
export function dataAge(collections: Collections, upstream: Upstream): DataAge {
  const { serverState } = upstream;
  const now = Date.now();
  const silentMs = silenceOf(upstream);
  const sources = agedSources(collections);
  const aged = sources.map(({ path, status }) => {
    return { path, status, ageMs: ageOf(status, silentMs, now) };
  });
  const oldest = aged.toSorted((a, b) => b.ageMs - a.ageMs)[0];
  const ageMs = oldest?.ageMs ?? 0;
  const since = isRefused(sources, serverState) ? undefined : unreachableSince(sources, now);
  const saved = sources.flatMap(({ status }) => status.restoredFrom ?? []);
  const age = {
    state: stateOf(sources, ageMs, since),
    ageSeconds: Math.floor(ageMs / 1000),
    missing: sources.some(({ status }) => hasData(status)) ? undefined : (true as const),
    unreachableSince: since === undefined ? undefined : isoSeconds(since),
    snapshotFrom: saved.length === 0 ? undefined : isoSeconds(least(saved)),
  };
  const isWatched = age.state === 'connected' || age.state === 'quiet';
  if (oldest === undefined || ageMs < GRACE_MS || isWatched) return age;
  const cause = staleCauseOf(age, oldest, serverState.condition);
  const old = `the data is ${age.ageSeconds} s old, and later changes are not known`;
  return { ...age, cause, warning: `${old}: ${cause}` };
}

/** It concerns all collections, so that none is named. */
export const REFUSED_CREDENTIALS = 'the API server refuses the credentials of the wrapper (401)';

export function isUnauthorized({ error }: Pick<ReflectorStatus, 'error'>): boolean {
  return error?.status?.code === 401;
}

type AgedSource = Pick<SourceReading, 'path' | 'status'>;

/** All collections, without those that the API server refuses: readiness reports these. */
function agedSources({ views, nodeSets, sources }: Collections): AgedSource[] {
  const sets = nodeSets.flatMap(({ selector, needed, refusal, status }) => {
    const path = `the nodes with ${selector}`;
    return needed && status !== undefined ? [{ path, status, refusal }] : [];
  });
  return [...views, ...sets, ...sources].filter(({ refusal }) => refusal === undefined);
}

function hasData({ restoredFrom, synced }: ReflectorStatus): boolean {
  return synced || restoredFrom !== undefined;
}

/** For how long the API server has sent nothing, in milliseconds. */
export function silenceOf({ address, serverState }: Upstream): number {
  // A cache is silent while nothing changes. What it has may be old, which nobody knows.
  return serverState.isCache(address) ? 0 : performance.now() - serverState.lastByteAt;
}

/** 0 without data: then there is nothing old to show. */
export function ageOf(status: ReflectorStatus, silentMs: number, now: number): number {
  if (!hasData(status)) return 0;
  const { restoredFrom, connected, staleMs } = status;
  if (restoredFrom !== undefined) return Math.max(0, now - restoredFrom);
  return connected ? silentMs : staleMs;
}

function stateOf(
  sources: readonly AgedSource[],
  ageMs: number,
  since: number | undefined,
): DataState {
  if (sources.some(({ status }) => status.restoredFrom !== undefined)) return 'snapshot';
  if (since !== undefined) return 'unreachable';
  if (sources.some(({ status }) => isInterrupted(status))) return 'interrupted';
  return ageMs < GRACE_MS ? 'connected' : 'quiet';
}

/**
 * Before the first list there is nothing to interrupt. Between a list, or the planned end of a watch, and the next
 * watch nothing is wrong.
 */
function isInterrupted({ synced, connected, error, staleMs }: ReflectorStatus): boolean {
  return synced && !connected && (error !== undefined || staleMs >= GRACE_MS);
}

/** Whether the API server is there, and refuses all that is not watched: rights or credentials were taken away. */
function isRefused(
  sources: readonly AgedSource[],
  { condition }: Upstream['serverState'],
): boolean {
  const answers = condition.name === 'reachable' || condition.name === 'refusing';
  const lost = sources.filter(({ status }) => !status.connected);
  return answers && lost.every(({ status: { error } }) => error?.status !== undefined);
}

/**
 * When the last byte of the last open watch arrived, in milliseconds since the epoch. Before the first contact: the
 * start of the process.
 */
function unreachableSince(sources: readonly AgedSource[], now: number): number | undefined {
  if (sources.some(({ status }) => status.connected)) return undefined;
  if (!sources.some(({ status }) => status.error !== undefined)) return undefined;
  const sinceMs = least(sources.map(({ status }) => status.staleMs));
  return now - (Number.isFinite(sinceMs) ? sinceMs : process.uptime() * 1000);
}

function staleCauseOf(
  { unreachableSince, snapshotFrom }: DataAge,
  { path, status }: AgedSource,
  condition: Upstream['serverState']['condition'],
): string {
  // A relay is tried before each API server. That it cannot be used does not make the data old.
  const isOwn = status.error?.isRelay !== true || !('error' in condition);
  const error = isOwn ? status.error : condition.error;
  const reason = error === undefined ? '' : ` (${error.message})`;
  if (snapshotFrom !== undefined) {
    const cause = unreachableSince === undefined ? '' : '; the API server is unreachable';
    return `it comes from the snapshot of ${snapshotFrom}${cause}${reason}`;
  }
  if (unreachableSince !== undefined) {
    return `the API server has been unreachable since ${unreachableSince}${reason}`;
  }
  return isUnauthorized(status) ? REFUSED_CREDENTIALS : `there is no watch of ${path}${reason}`;
}

function isoSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
