/** The part of a container's status that is read here. */
export interface ContainerStatus {
  readonly name: string;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
  };
  readonly lastState?: { readonly terminated?: { readonly message?: string } };
}

/** Why a Pod does not run. */
export interface PodTrouble {
  readonly pod: string;
  /** `CrashLoopBackOff`, `ImagePullBackOff`, … */
  readonly reason: string;
  /** The last words of its container, or what the kubelet says; empty: neither says anything. */
  readonly message: string;
}

/** Container of the wrapper in the manifests and the chart. A sidecar shares its Pod with others. */
const CONTAINER = 'kube-proxy-wrapper';
/** Reasons of a Pod that only starts. */
const STARTING = ['ContainerCreating', 'PodInitializing'];
const MAX_MESSAGE = 300;

export function troubleOf(
  pod: string,
  status:
    | {
        readonly containerStatuses?: readonly ContainerStatus[];
        readonly initContainerStatuses?: readonly ContainerStatus[];
      }
    | undefined,
): PodTrouble | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = status ?? {};
  const all = [...initContainerStatuses, ...containerStatuses];
  const own = all.filter(({ name }) => name === CONTAINER);
  for (const { state, lastState } of own.length > 0 ? own : all) {
    const { reason, message } = state?.waiting ?? {};
    if (reason === undefined || STARTING.includes(reason)) continue;
    const last = lastWords(lastState?.terminated?.message ?? '') ?? message ?? '';
    return { pod, reason, message: last.slice(0, MAX_MESSAGE) };
  }
  return undefined;
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
