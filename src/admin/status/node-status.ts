import type { NodeProxy } from '../../proxy/node-proxy.ts';
import type { ServiceOutcome } from '../../topology/state/service-outcome.ts';
import { VERSION } from '../../version.ts';
import { findView } from '../explain/explained-view.ts';
import { kubernetesRows } from '../explain/table.ts';
import type { TimeSlice } from '../explain/time-slice.ts';
import { type Health, healthOf } from '../health/causes.ts';
import type { DataAge } from '../health/data-age.ts';
import type { Check } from '../health/readiness.ts';
import { kubeProxyLine } from './kube-proxy-line.ts';
import type { KubeProxyProbe, ProbeResult } from './kube-proxy-probe.ts';
import { outcomesHash } from './outcomes-hash.ts';
import { policyLines } from './policy-lines.ts';
import { type NodeStatus, ok, problem, type StatusLine, unknown } from './status-line.ts';

/*
 * The room `status`: is it well on this node? One function answers, for the commands `status` and `check`, for kubectl
 * kpw and for whoever asks /status. It reads the checks of /readyz, their causes, the age of the data and the outcomes of
 * Services, which the page and the metrics read too.
 *   status-line.ts       the shape of the answer
 *   node-status.ts       its lines
 *   policy-lines.ts      the lines about policies
 *   kube-proxy-line.ts   whether kube-proxy uses this wrapper
 *   kube-proxy-probe.ts  whether kube-proxy has written its rules
 */

/** The status of this node. Never rejects, except with the reason of the signal of the slice. */
export async function nodeStatus(
  proxy: NodeProxy,
  probe: KubeProxyProbe,
  slice: TimeSlice,
): Promise<NodeStatus> {
  const health = healthOf(proxy);
  const { checks, data } = health;
  const outcomes = readOutcomes(proxy);
  const connection = kubeProxyLine(proxy);
  const { topology, policyResolver, settingsRevision } = proxy;
  return {
    node: topology.nodeName,
    version: VERSION,
    data,
    settings: settingsRevision,
    dryRun: policyResolver.settings.dryRun === true,
    lines: [
      ...wrapperLines(health),
      dataLine(data),
      connection,
      ...(connection.state === 'notConnected' ? [] : [await rulesLine(proxy, probe, data, slice)]),
      ...offlineLines(proxy, checks),
      ...(outcomes === undefined
        ? [unknown('policies', 'the view that kube-proxy reads is not complete yet')]
        : policyLines(topology, outcomes)),
    ],
    outcomes: outcomes && outcomesHash(outcomes),
  };
}

function readOutcomes(proxy: NodeProxy): readonly ServiceOutcome[] | undefined {
  const view = findView(proxy);
  return view?.view.started ? [...view.projection.outcomes()] : undefined;
}

/** Checks that have a line of their own. */
const OFFLINE: Readonly<Record<string, 'localRuntime' | 'stateDir'>> = {
  'local-runtime': 'localRuntime',
  snapshots: 'stateDir',
};

/** Old data is the line `data`, whatever checks fail because of it. */
function wrapperLines({ checks, data, causes }: Health): StatusLine[] {
  const others = causes.filter(({ text }) => text !== data.cause);
  const failed = others.map(({ isStart, text }) =>
    isStart ? unknown('wrapper', 'starting', text) : problem('wrapper', text, nextOf(text)),
  );
  const degraded = checks.flatMap(({ name, degraded: text }) =>
    text === undefined || name in OFFLINE
      ? []
      : [problem('wrapper', text, 'see the log of the wrapper', name)],
  );
  const lines = [...failed, ...degraded];
  return lines.length > 0 ? lines : [ok('wrapper', 'ready')];
}

function nextOf(cause: string): string {
  if (cause.startsWith('own-node: ')) {
    return 'correct nodeName (--node-name, NODE_NAME), or register the Node';
  }
  return cause.includes('403')
    ? 'grant the missing rights: see manifests/base/cluster-role.yaml, and manifests/components for settings that need more'
    : 'see /readyz and the log of the wrapper';
}

const OLD: Readonly<Record<DataAge['state'], string>> = {
  connected: 'connected',
  quiet: 'quiet',
  interrupted: 'changes of a collection do not arrive: it is not watched',
  unreachable: 'changes do not arrive: the API server is unreachable',
  snapshot: 'the last state is shown from disk: the API server has not answered since the start',
};

function dataLine({ state, ageSeconds, missing, warning }: DataAge): StatusLine {
  if (missing) {
    return unknown('data', 'there is no data yet: the API server has not sent any since the start');
  }
  if (warning === undefined) return ok('data', state, `${ageSeconds} s old`);
  const next = 'check the API server and the network of this node; until then nothing changes here';
  return problem('data', OLD[state], next, warning);
}

/** A change that waits for longer is late, in seconds. kube-proxy writes at the latest after 30 s (syncPeriod). */
const LATE_SECONDS = 60;

/** Whether the kernel has the rules of kube-proxy, as far as that can be found out without any right. */
async function rulesLine(
  proxy: NodeProxy,
  probe: KubeProxyProbe,
  { state }: DataAge,
  slice: TimeSlice,
): Promise<StatusLine> {
  if (state !== 'connected' && state !== 'quiet') {
    return unknown('rules', 'not known while the API server is unreachable');
  }
  const [row] = await kubernetesRows(proxy, slice);
  const clusterIp = row && hostPort(row.clusterIP, row.port);
  const result = await probe.ask({ clusterIp, backends: row?.backends ?? [] });
  return rulesFound(result, clusterIp);
}

const LOOK =
  'restart this kube-proxy; if it happens again, see "The kernel has no rules" in docs/operations-node.md, and run kube-proxy-wrapper check on the node as root';

function rulesFound(
  { health, lateSeconds = 0, clusterIp: opens, backend }: ProbeResult,
  clusterIp: string | undefined,
): StatusLine {
  const about = `ClusterIP ${clusterIp} of default/kubernetes`;
  if (opens === false && backend) {
    const text = 'the kernel has no rules: no connection to the ClusterIP of default/kubernetes';
    return problem('rules', text, LOOK, `${about}; its backend accepts connections`);
  }
  if (health >= 500) {
    return problem('rules', `kube-proxy reports that it is not healthy (${health})`, LOOK);
  }
  if (lateSeconds > LATE_SECONDS) {
    const late = `a change waits for ${Math.round(lateSeconds)} s`;
    return problem('rules', 'kube-proxy does not write its rules', LOOK, late);
  }
  if (opens === undefined) {
    return unknown('rules', 'the ClusterIP of default/kubernetes is not known');
  }
  if (!opens) {
    const text = 'the backends of default/kubernetes are unreachable, and so is its ClusterIP';
    return unknown('rules', text, about);
  }
  return ok('rules', 'a connection to the ClusterIP of default/kubernetes opens', about);
}

function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether what is needed when the link goes down would work now. */
function offlineLines(
  { localRuntime, snapshots }: NodeProxy,
  checks: readonly Check[],
): StatusLine[] {
  return checks.flatMap(({ name, degraded }) => {
    const id = OFFLINE[name];
    if (id === undefined) return [];
    if (degraded === undefined) return [ok(id, 'works')];
    return id === 'stateDir'
      ? [
          problem(
            id,
            'the state cannot be written, so the next start may lack it',
            'check the disk and its rights',
            snapshots?.problem,
          ),
        ]
      : [
          problem(
            id,
            `the container runtime cannot be read: ${localRuntime?.problem}`,
            `check the setting localRuntime, and that the wrapper may use ${localRuntime?.socket}`,
            degraded,
          ),
        ];
  });
}
