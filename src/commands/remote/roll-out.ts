import { type NodeStatus, problem, type StatusLine } from '../../admin/status/status-line.ts';
import { WrapperError } from '../../errors.ts';
import { formatAge } from '../output/format-output.ts';
import type { WrapperNode } from './wrapper-pods.ts';

/** A roll-out makes new Pods all the time. If it has made none for so long, it is stuck, in milliseconds. */
const STUCK_MS = 10 * 60_000;

/**
 * Lines about nodes that still run another version or other settings than the newest Pod of their DaemonSet, although
 * the roll-out has made no Pod for a while. A canary is a DaemonSet of its own.
 *
 * @param answers by node; a node without an answer has no version
 */
export function rollOutLines(
  nodes: readonly WrapperNode[],
  answers: readonly (NodeStatus | WrapperError | undefined)[],
  now = Date.now(),
): readonly (readonly StatusLine[])[] {
  const newest = new Map<string, { readonly created: string; readonly runs: string }>();
  const runs = answers.map((answer) =>
    answer === undefined || answer instanceof WrapperError
      ? undefined
      : `version ${answer.version}, settings ${answer.settings}`,
  );
  nodes.forEach(({ daemonSet, created, troubles }, index) => {
    const own = runs[index];
    // The newest Pod is not the one that answers.
    if (own === undefined || troubles.length > 0) return;
    if (created > (newest.get(daemonSet)?.created ?? ''))
      newest.set(daemonSet, { created, runs: own });
  });
  return nodes.map(({ daemonSet }, index) => {
    const own = runs[index];
    const latest = newest.get(daemonSet);
    if (own === undefined || latest === undefined || own === latest.runs) return [];
    const ageMs = now - Date.parse(latest.created);
    if (!(ageMs > STUCK_MS)) return [];
    const age = formatAge(ageMs / 1000);
    const text = `still runs ${own}; the newest Pod runs ${latest.runs}`;
    const next =
      'see kubectl rollout status; settings are read when a Pod starts: kubectl rollout restart';
    return [problem('wrapper', text, next, `no new Pod for ${age}`)];
  });
}
