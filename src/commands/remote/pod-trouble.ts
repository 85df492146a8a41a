import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { timeOf } from './time-of.ts';

/** Why a Pod does not run. */
export interface PodTrouble {
  readonly pod: string;
  /** `CrashLoopBackOff`, `ImagePullBackOff`, `Unschedulable`, … */
  readonly reason: string;
  /** The last words of its container, or what the kubelet says; empty: neither says anything. */
  readonly message: string;
}

/** Containers of the wrapper in the manifests and the chart. A sidecar shares its Pod with kube-proxy. */
const CONTAINERS = ['kube-proxy-wrapper', 'own-state-dir', 'kube-proxy-wrapper-own-state-dir'];
/** Reasons of a Pod that only starts. */
const STARTING = ['ContainerCreating', 'PodInitializing'];
/** Reasons of an end that say nothing. OOMKilled says more than the last words do. */
const ORDINARY_ENDS = ['Error', 'Completed'];
const MAX_MESSAGE = 300;
/** A container that has not crashed for so long runs, in milliseconds. */
const START_MS = 60_000;

/** Why a Pod does not run; undefined: it runs, or only starts. */
export function troubleOf({ metadata, status = {} }: V1Pod): PodTrouble | undefined {
  const { containerStatuses = [], initContainerStatuses = [], conditions = [] } = status;
  const pod = metadata?.name ?? '';
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False') {
    const { reason = 'Pending', message = '' } = scheduled;
    return { pod, reason, message: message.slice(0, MAX_MESSAGE) };
  }
  const all = [...initContainerStatuses, ...containerStatuses];
  const own = all.filter(({ name }) => CONTAINERS.includes(name));
  for (const container of own.length > 0 ? own : all) {
    const { state, lastState } = container;
    const { reason = '', message } = state?.waiting ?? {};
    const isWaiting = reason !== '' && !STARTING.includes(reason);
    if (!isWaiting && !isCrashing(container)) continue;
    const { reason: end = 'Error', message: log = '' } =
      state?.terminated ?? lastState?.terminated ?? {};
    const last = lastWords(log) ?? message ?? '';
    const why = ORDINARY_ENDS.includes(end) ? last : [end, last].filter(Boolean).join(': ');
    return {
      pod,
      reason: isWaiting ? reason : 'CrashLoopBackOff',
      message: why.slice(0, MAX_MESSAGE),
    };
  }
  return undefined;
}

/**
 * A container that crashes again and again is in these states too, for moments: it has ended, or it starts again. Then it
 * may be ready: the Pod before it has the same port, and answers its probes.
 */
function isCrashing({ state, lastState }: V1ContainerStatus): boolean {
  if (state?.terminated !== undefined) return state.terminated.exitCode !== 0;
  const { running } = state ?? {};
  if (lastState?.terminated === undefined || running === undefined) return false;
  return Date.now() - timeOf(running.startedAt) < START_MS;
}

/** The last line of a log: an error of the start, or a line of pino. */
function lastWords(log: string): string | undefined {
  const line = log.trim().split('\n').at(-1) ?? '';
  if (line === '') return undefined;
  try {
    const { msg, err } = JSON.parse(line) as { msg?: unknown; err?: unknown };
    const error = typeof err === 'object' ? (err as { message?: unknown } | null)?.message : err;
    return [msg, error].filter((each) => typeof each === 'string').join(': ') || line;
  } catch {
    return line;
  }
}
