import { type ReadinessCause, withDetail } from '../../diagnosis/reading/causes.ts';
import type { DataAge } from '../../diagnosis/reading/data-age.ts';
import type { Health } from '../../diagnosis/reading/health.ts';
import type { NodeReader, NodeReading } from '../../diagnosis/reading/node-reading.ts';
import { RELAYS } from '../../diagnosis/reading/readiness.ts';
import { NODE_SET_PREFIX, OWN_NODE } from '../../diagnosis/reading/start-wait.ts';
import { VERSION } from '../../version.ts';
import type { TimeSlice } from '../explain/time-slice.ts';
import type { KernelRules } from './kernel-rules.ts';
import { nodeFilterLines, policyLines } from './policy-lines.ts';
import {
  type NodeStatus,
  okLine,
  problemLine,
  type StatusLine,
  unknownLine,
  warningLine,
} from './status-line.ts';

/*
 * The room `status`: is it well on this node? One function answers, for the command `status`, for kubectl kpw
 * and for whoever asks /status. It formats the reading of the node, as the page and the metrics do.
 *   status-line.ts       the shape of the answer
 *   node-status.ts       its lines
 *   policy-lines.ts      the lines about policies
 *   missing-labels.ts    those about labels that policies use and this node lacks
 *   kube-proxy-line.ts   whether kube-proxy uses this wrapper
 *   kernel-rules.ts      whether kube-proxy has written its rules, for /status, /metrics and /readyz
 *   kube-proxy-probe.ts  how that is found out
 *   kubernetes-target.ts the ClusterIP that is dialled
 */

/** The status of this node. Rejects only if the slice does. */
export async function nodeStatus(
  reader: NodeReader,
  rules: KernelRules,
  slice: TimeSlice,
): Promise<NodeStatus> {
  const kubeProxyLines = await rules.findLines();
  const reading = reader.read();
  const { node, data, settings, dryRun, upstream } = reading;
  const tally = reading.services.of(reading.view);
  const policies = [
    ...nodeFilterLines(reading),
    ...(tally === undefined
      ? [unknownLine('policies', 'the view that kube-proxy reads is not complete yet')]
      : await policyLines(reader.proxy.topology, tally.problems, reading.lastLabels, slice)),
  ];
  return {
    node,
    version: VERSION,
    data,
    settings,
    dryRun,
    relay: upstream.isRelay ? upstream.address : undefined,
    lines: [
      ...wrapperLines(reading),
      dataLine(reading),
      ...relayLines(reading),
      ...kubeProxyLines,
      ...offlineLines(reading),
      ...(policies.length > 0 ? policies : [okLine('policies', 'no problem found')]),
    ],
  };
}

/** Checks that have a line of their own. */
const OFFLINE: Readonly<Record<string, 'localRuntime' | 'stateDir'>> = {
  'local-runtime': 'localRuntime',
  snapshots: 'stateDir',
};

/**
 * Old data is the line `data`, whatever checks fail because of it. A node set without room is a warning about policies:
 * tenants write them.
 */
function wrapperLines({ checks, data, causes }: Health): StatusLine[] {
  const others = causes.filter(({ nature }) => nature !== 'stale' || data.cause === undefined);
  const failed = others.map((cause) =>
    cause.nature === 'starting'
      ? unknownLine('wrapper', 'starting', cause.text)
      : problemLine('wrapper', cause.text, nextOf(cause), cause.detail),
  );
  const degraded = checks.flatMap(({ name, degraded: text, detail }) => {
    if (text === undefined || name in OFFLINE || name.startsWith(NODE_SET_PREFIX)) return [];
    // Without relays the API server is used.
    const make = name === RELAYS ? warningLine : problemLine;
    return [make('wrapper', text, 'see the log of the wrapper', withDetail(name, detail))];
  });
  const lines = [...failed, ...degraded];
  return lines.length > 0 ? lines : [okLine('wrapper', 'ready')];
}

const RENEW = 'renew the token or certificate of the wrapper, which it reads again by itself';

function nextOf({ check, nature }: ReadinessCause): string {
  if (nature === 'unauthorized') return RENEW;
  if (check === OWN_NODE) {
    return 'correct nodeName (--node-name, NODE_NAME), or register the Node';
  }
  return nature === 'forbidden'
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

function dataLine({ data, upstream, causes }: NodeReading): StatusLine {
  const { address, isRelay, isCache, waitsForRelays } = upstream;
  const { state, ageSeconds, missing, warning: old } = data;
  if (missing) {
    return unknownLine(
      'data',
      'there is no data yet: the API server has not sent any since the start',
    );
  }
  const from = isRelay && !waitsForRelays ? `, from the relay ${address}` : '';
  if (old === undefined && isCache) {
    return okLine('data', state, `from the cache ${address}, which does not tell how old it is`);
  }
  if (old === undefined) return okLine('data', state, `${ageSeconds} s old${from}`);
  if (causes.some(({ nature }) => nature === 'unauthorized')) {
    const text = 'changes do not arrive: the API server refuses the credentials of the wrapper';
    return problemLine('data', text, `${RENEW}; until then nothing changes here`, old);
  }
  const look =
    state === 'interrupted'
      ? 'see /readyz and the log of the wrapper'
      : 'check the API server and the network of this node';
  const next = `${look}; until then nothing changes here`;
  return problemLine('data', OLD[state], next, old);
}

/** A mistake in the settings of relays is a line of the wrapper. */
function relayLines({ checks, upstream }: NodeReading): StatusLine[] {
  const { isRelay, hasRelays, relayFailure } = upstream;
  const isMistaken = checks.some(({ name, degraded }) => name === RELAYS && degraded !== undefined);
  if (isRelay || !hasRelays || isMistaken) return [];
  const next =
    'once its relay can be used, a node returns within two minutes, or 20 if it has left it often';
  return [warningLine('relay', WITHOUT_RELAY, next, relayFailure)];
}

const WITHOUT_RELAY = 'this node reads from the API server, although there is a relay';

/** Whether what is needed when the link goes down would work now. */
function offlineLines({ localRuntime, checks }: NodeReading): StatusLine[] {
  return checks.flatMap(({ name, degraded, detail }) => {
    const id = OFFLINE[name];
    if (id === undefined) return [];
    if (degraded === undefined) return [okLine(id, 'works')];
    const next =
      id === 'stateDir'
        ? 'check the disk and its rights'
        : `check the setting localRuntime, and that the wrapper may use ${localRuntime?.socket}`;
    return problemLine(id, degraded, next, detail);
  });
}
