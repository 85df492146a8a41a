import { problem, type StatusLine } from '../../src/admin/status/status-line.ts';
import { formatAge } from '../output/format-output.ts';
import type { AskedNode } from './asked-node.ts';

/** A roll-out makes new Pods all the time. If it has made none for so long, it is stuck, in milliseconds. */
const STUCK_MS = 10 * 60_000;

/** What the newest Pod of a DaemonSet runs, and when it was made. */
interface NewestRun {
  /** In milliseconds since the epoch. */
  readonly created: number;
  readonly runs: string;
}

/** The newest Pod that answers of each DaemonSet. A canary is a DaemonSet of its own. */
export function newestRuns(nodes: readonly AskedNode[]): ReadonlyMap<string, NewestRun> {
  const newest = new Map<string, NewestRun>();
  for (const node of nodes) {
    const { daemonSet, created, troubles } = node;
    const runs = runsOf(node);
    // With troubles, the newest Pod is not the one that answers.
    if (runs === undefined || troubles.length > 0) continue;
    if (created > (newest.get(daemonSet)?.created ?? 0)) newest.set(daemonSet, { created, runs });
  }
  return newest;
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
  const ageMs = Date.now() - latest.created;
  if (ageMs <= STUCK_MS) return [];
  const text = `still runs ${own}; the newest Pod runs ${latest.runs}`;
  const next =
    'see kubectl rollout status; settings are read when a Pod starts: kubectl rollout restart';
  return [problem('wrapper', text, next, `no new Pod for ${formatAge(ageMs / 1000)}`)];
}

function runsOf({ status }: AskedNode): string | undefined {
  return status && `version ${status.version}, settings ${status.settings}`;
}
