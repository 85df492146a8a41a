import type { NodeProxy } from '../proxy/node-proxy.ts';
import { questionPath } from '../proxy/question.ts';

/** One line of /readyz. */
export interface Check {
  readonly name: string;
  /** Why not; undefined: all is well. */
  readonly problem: string | undefined;
}

/** An interruption of the API server shorter than this is no reason to call the node unready, in milliseconds. */
const GRACE_MS = 10_000;

/**
 * What readiness depends on. A view whose API server is away is served as it was, but not called ready: its
 * age matters to whoever asks.
 */
export function readiness(proxy: NodeProxy, now: number): Check[] {
  const checks: Check[] = [
    {
      name: 'own-node',
      problem: proxy.views.ownNodeExists
        ? undefined
        : `there is no Node ${JSON.stringify(proxy.world.nodeName)}, or it has not been read yet`,
    },
  ];
  for (const { question, view, status } of proxy.views.sources) {
    const name = `view ${question.encoding} ${questionPath(question)}`;
    checks.push({ name, problem: problemOf(status, now) ?? startProblem(view.started) });
  }
  for (const [selector, status] of proxy.nodeSets.statuses) {
    const refusal = proxy.world.nodeSets.get(selector)?.refusal;
    const refused =
      refusal === undefined ? undefined : `${refusal}; only this node itself counts as one of them`;
    checks.push({ name: `nodes ${selector}`, problem: refused ?? problemOf(status, now) });
  }
  for (const { question, status, refusal } of proxy.worldSources.sources) {
    const name = `source ${questionPath(question)}`;
    checks.push({ name, problem: refusal ?? problemOf(status, now) });
  }
  return checks;
}

function problemOf(
  status: { synced: boolean; connected: boolean; lastContact: number; error: Error | undefined },
  now: number,
): string | undefined {
  const reason = status.error === undefined ? '' : `: ${status.error.message}`;
  if (!status.synced) return `not synced yet${reason}`;
  const age = now - status.lastContact;
  if (status.connected || age < GRACE_MS) return undefined;
  return `stale, the API server was last heard of ${Math.round(age / 1000)} s ago${reason}`;
}

function startProblem(started: boolean): string | undefined {
  return started ? undefined : 'waits for the own Node, the Services or a node set';
}
