import { problemLine, type StatusLine } from '../../src/admin/status/status-line.ts';
import { formatAge } from '../../src/text/numbers.ts';
import type { AskedNode } from './asked-node.ts';

/** A roll-out makes new Pods all the time. If it has made none for so long, it is stuck, in milliseconds. */
const STUCK_MS = 10 * 60_000;

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
      const answering = own.filter(({ status }) => status !== undefined);
      const [last] = answering.toSorted((a, b) => b.created - a.created);
      const newest = Math.max(...own.map((node) => node.newest));
      return [daemonSet, { newest, runs: last && runsOf(last) }];
    }),
  );
}

/**
 * A line about a node that still runs another version or other settings than the newest Pod of its DaemonSet, although
 * the roll-out has made no Pod for a while.
 */
export function rollOutLines(
  node: AskedNode,
  newest: ReadonlyMap<string, NewestRun>,
): StatusLine[] {
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

function runsOf({ status }: AskedNode): string | undefined {
  return status && `version ${status.version}, settings ${status.settings}`;
}
