import { problemLine, type StatusLine } from '../../src/admin/status/status-line.ts';
import { formatAge } from '../../src/text/numbers.ts';
import { greatest } from '../../src/util/extremes.ts';
import type { AskedNode } from './asked-node.ts';
import type { NextPod } from './next-pod.ts';

/** A roll-out makes new Pods all the time. If it has made none for so long, it is stuck, in milliseconds. */
const STUCK_MS = 10 * 60_000;
/** The Pod before a ready one is deleted at once. One that is there after this time, in milliseconds, stays. */
const READY_MS = 60_000;
/** A Pod that runs and is not ready in this time waits for something, in milliseconds. */
const UNREADY_MS = 5 * 60_000;

/** What a DaemonSet runs. */
interface NewestRun {
  /** When its newest Pod was made, whether or not it answers, in milliseconds since the epoch. */
  readonly newest: number;
  /** What the newest Pod that answers runs; undefined: none answers. */
  readonly runs: string | undefined;
}

/** What each DaemonSet runs. A canary is a DaemonSet of its own. */
export function newestRuns(nodes: readonly AskedNode[]): ReadonlyMap<string, NewestRun> {
  const byDaemonSet = Map.groupBy(nodes, ({ daemonSet }) => daemonSet);
  return new Map(
    Array.from(byDaemonSet, ([daemonSet, own]) => {
      // Two that are ready share a port, so nobody knows which of them has answered.
      const answering = own.filter(({ status, next }) => status !== undefined && !next?.isReady);
      const [last] = answering.toSorted((a, b) => b.created - a.created);
      const newest = greatest(own.map((node) => node.newest));
      return [daemonSet, { newest, runs: last && runsOf(last) }];
    }),
  );
}

/**
 * A line about a node on which the roll-out goes no further, or that still runs another version or other settings than
 * the newest Pod of its DaemonSet, although the roll-out has made no Pod for a while.
 */
export function rollOutLines(
  node: AskedNode,
  newest: ReadonlyMap<string, NewestRun>,
): StatusLine[] {
  if (node.next !== undefined) return nextPodLines(node.next);
  const own = runsOf(node);
  const latest = newest.get(node.daemonSet);
  if (own === undefined || latest === undefined || own === latest.runs) return [];
  const ageMs = Date.now() - latest.newest;
  if (ageMs <= STUCK_MS) return [];
  const text = `still runs ${own}; the newest Pod runs ${latest.runs}`;
  const next =
    'see kubectl rollout status; settings are read when a Pod starts: kubectl rollout restart';
  return [problemLine('wrapper', text, next, `no new Pod for ${formatAge(ageMs / 1000)}`)];
}

function nextPodLines({ name, isReady, since }: NextPod): StatusLine[] {
  const ageMs = Date.now() - since;
  if (ageMs <= (isReady ? READY_MS : UNREADY_MS)) return [];
  const [text, next] = isReady ? NOT_DELETED : NOT_READY;
  return [problemLine('wrapper', text, next, `${name}, for ${formatAge(ageMs / 1000)}`)];
}

const NOT_DELETED = [
  'two Pods are ready, and the roll-out does not delete the one before',
  'the controller of DaemonSets looks again when a Pod of the wrapper changes: see "A roll-out stops" in docs/operations-node.md',
] as const;
const NOT_READY = [
  'the next Pod runs, and does not become ready',
  'see its log and kubectl describe; the Pod before it serves the node until then',
] as const;

function runsOf({ status }: AskedNode): string | undefined {
  return status && `version ${status.version}, settings ${status.settings}`;
}
