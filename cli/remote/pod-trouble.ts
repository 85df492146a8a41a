import type { V1ContainerStateTerminated, V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { formatAge } from '../../src/text/numbers.ts';
import { timeOf } from './time-of.ts';

/** Why a Pod does not run, or why it has just started again. */
export interface PodTrouble {
  readonly pod: string;
  /** `CrashLoopBackOff`, `ImagePullBackOff`, `Unschedulable`, …; absent: it runs again. */
  readonly reason?: string;
  /**
   * How its container ended, or what the kubelet says; empty: neither is known. Equal for all Pods in the same trouble.
   */
  readonly message: string;
  /** How long ago it ended: `9 s ago`; absent: it has not. */
  readonly age?: string;
  /** What the reader can do. */
  readonly next: string;
}

/** Containers of wrappers and relays in the manifests and the chart. A sidecar shares its Pod with kube-proxy. */
const CONTAINERS = [
  'kube-proxy-wrapper',
  'own-state-dir',
  'kube-proxy-wrapper-own-state-dir',
  'kube-proxy-wrapper-relay',
];
/** Reasons of a Pod that only starts, unless it is older than {@link LATE_MS}. */
const STARTING = ['ContainerCreating', 'PodInitializing'];
/** Reasons of an end that the exit code says too. */
const ORDINARY_ENDS = ['Error', 'Completed'];
/** Reasons with a message of the container runtime. Nothing of the program has run. */
const NOT_STARTED = ['StartError', 'ContainerCannotRun'];
const MAX_MESSAGE = 300;
/** A container that has not crashed for so long runs, in milliseconds. */
const START_MS = 60_000;
/** A Pod that has not started in this time may never start, in milliseconds. A slow link pulls the image meanwhile. */
const LATE_MS = 5 * 60_000;

/** How the program begins its last line when it cannot go on (program.ts). */
const OUR_WORDS = 'kube-proxy-wrapper: ';
const CORRECT = 'correct the settings or the image';
/** What Node.js says if another process listens there. */
const IN_USE = 'EADDRINUSE';
const FREE =
  'see "The address is in use" in docs/operations-node.md: two Pods of the wrapper, or another program';
const DESCRIBE =
  'see kubectl describe: a Secret or ConfigMap may be missing, or the image be pulled still';

/** Why a Pod does not run, or has crashed lately; undefined: it runs, or only starts. */
export function troubleOf({ metadata, status = {} }: V1Pod): PodTrouble | undefined {
  const { containerStatuses = [], initContainerStatuses = [], conditions = [] } = status;
  const pod = metadata?.name ?? '';
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False') {
    const { reason = 'Pending', message = '' } = scheduled;
    const next = 'make room on the node, or request less memory';
    return { pod, reason, message: message.slice(0, MAX_MESSAGE), next };
  }
  const all = [...initContainerStatuses, ...containerStatuses];
  const own = all.filter(({ name }) => CONTAINERS.includes(name));
  const { creationTimestamp: created } = metadata ?? {};
  const isLate = created !== undefined && Date.now() - timeOf(created) > LATE_MS;
  for (const container of own.length > 0 ? own : all) {
    const trouble = crashOf(container) ?? waitOf(container, isLate);
    if (trouble !== undefined) return { pod, ...trouble };
  }
  return undefined;
}

type ContainerTrouble = Omit<PodTrouble, 'pod'>;

/** A container that has not run, such as one whose image cannot be pulled. */
function waitOf({ state }: V1ContainerStatus, isLate: boolean): ContainerTrouble | undefined {
  const { reason = '', message = '' } = state?.waiting ?? {};
  if (reason === '') return undefined;
  if (STARTING.includes(reason)) return isLate ? { reason, message, next: DESCRIBE } : undefined;
  return { reason, message: message.slice(0, MAX_MESSAGE), next: CORRECT };
}

/**
 * A container that crashes again and again waits, has ended, or runs for a moment. Then it may be ready: the Pod before
 * it has the same port, and answers its probes.
 */
function crashOf({ state, lastState }: V1ContainerStatus): ContainerTrouble | undefined {
  const end = state?.terminated ?? lastState?.terminated;
  const isLoop = state?.waiting?.reason === 'CrashLoopBackOff';
  if (end === undefined || (state?.waiting !== undefined && !isLoop)) return undefined;
  // A planned restart ends with 0.
  if (end.exitCode === 0 && !isLoop) return undefined;
  const { running } = state ?? {};
  if (running !== undefined && Date.now() - timeOf(running.startedAt) >= START_MS) return undefined;
  const ms = Date.now() - timeOf(end.finishedAt);
  return {
    reason: running === undefined ? 'CrashLoopBackOff' : undefined,
    ...howItEnded(end),
    age: end.finishedAt && `${formatAge(Math.max(0, ms) / 1000)} ago`,
  };
}

function howItEnded(end: V1ContainerStateTerminated): Pick<PodTrouble, 'message' | 'next'> {
  const { exitCode, reason = 'Error', message: log = '' } = end;
  if (NOT_STARTED.includes(reason)) {
    return { message: `${reason}: ${log}`.slice(0, MAX_MESSAGE), next: CORRECT };
  }
  const code = [exitCode, ...(ORDINARY_ENDS.includes(reason) ? [] : [reason])].join(', ');
  // 128 and the number of the signal.
  const what = exitCode > 128 ? `was killed (${code})` : `ended with code ${code}`;
  const words = lastWords(log);
  const message = words === undefined ? what : `${what}: ${words}`.slice(0, MAX_MESSAGE);
  if (reason === 'OOMKilled') return { message, next: 'raise the memory limit' };
  const isOurs = words?.startsWith(OUR_WORDS) === true;
  if (!isOurs) return { message, next: 'see kubectl logs --previous' };
  return { message, next: words.includes(IN_USE) ? FREE : CORRECT };
}

/** Why the program ended, if it said so: its own error, or that of Node.js. Any other line of a log is no reason. */
function lastWords(log: string): string | undefined {
  const lines = log.split('\n').map((line) => line.trim());
  return lines.findLast(
    (line) => line.startsWith(OUR_WORDS) || /^(FATAL ERROR: |\w*Error\b.*: )/.test(line),
  );
}
