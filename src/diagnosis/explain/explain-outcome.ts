import type { Policy, UnmanagedReason } from '../../topology/policy/policy.ts';
import type { ServiceOutcome } from '../../topology/state/service-outcome.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { CATALOGUE } from '../catalogue.ts';
import type { DecidedEndpoints } from './explain-endpoints.ts';
import type { OutcomeExplanation, PolicyExplanation, PolicyOrigin } from './explanation.ts';

/** Why a Service is not filtered, and, where there is a choice, what changes that. */
export const UNMANAGED: Readonly<Record<UnmanagedReason, string>> = {
  'no-policy': 'there are no topology keys for it, or they are an empty list ([])',
  headless:
    'the Service is headless; clients take its endpoints from DNS (setting headless: true filters it)',
  'local-traffic-policy': 'its internalTrafficPolicy is Local, which kube-proxy implements itself',
  'kubernetes-service':
    'it is default/kubernetes, which is filtered only if it has an annotation itself',
  'unknown-service': 'the Service does not exist, or kube-proxy does not watch it',
  'not-read':
    'kube-proxy does not read it: its type is ExternalName, or it has the label service.kubernetes.io/service-proxy-name',
  'invalid-policy': CATALOGUE['invalid-policy'].text,
  'traffic-distribution':
    'it has its own spec.trafficDistribution, which comes before its Namespace and the default: kube-proxy follows its topology hints (the annotation topologyKeys overrides this)',
  'topology-mode':
    'it has its own annotation service.kubernetes.io/topology-mode, which comes before its Namespace and the default: kube-proxy follows its topology hints (the annotation topologyKeys overrides this)',
  'service-off': 'the annotation kube-proxy-wrapper.io/filter=off switches filtering off',
  'node-off': 'the annotation kube-proxy-wrapper.io/filter=off of this node switches filtering off',
  'cloud-node': 'its policy is for edge nodes, and this node is a cloud node',
  'node-set-limit': CATALOGUE['node-set-limit'].text,
  'service-too-large': CATALOGUE['service-too-large'].text,
  'other-proxy': 'another proxy serves it on this node (setting serviceFilter)',
};

/**
 * Explains the policy of a Service, and what it overrides.
 *
 * @param policy the active one; the annotations may be newer and wait for node sets
 * @param origins the current sources of keys; the first one applies
 */
export function explainPolicy(policy: Policy, origins: readonly PolicyOrigin[]): PolicyExplanation {
  if (!policy.managed) {
    const [used, ...overrides] = origins;
    const { reason, message } = policy;
    return { managed: false, reason, message, source: used?.source, overrides };
  }
  const { keys, source, minReady } = policy;
  const at = origins.findIndex((origin) => origin.source === source);
  const used = origins[at];
  return {
    managed: true,
    source,
    preset: used?.keys.join() === keys.join() ? used.preset : undefined,
    keys,
    minReady,
    overrides: origins.slice(at + 1),
  };
}

/**
 * Explains what this node does with a Service.
 *
 * @param decided the decision about its endpoints; undefined: no policy selects any, or the first one is pending
 */
export function explainOutcome(
  topology: Topology,
  outcome: ServiceOutcome,
  decided: DecidedEndpoints | undefined,
): OutcomeExplanation {
  const { kind, dryRun } = outcome;
  const waitsFor = topology.waitsFor(outcome.service);
  return { kind, text: describeOutcome(outcome, decided, waitsFor), dryRun, waitsFor };
}

function describeOutcome(
  { kind, reason, total }: ServiceOutcome,
  decided: DecidedEndpoints | undefined,
  waitsFor: readonly string[],
): string {
  if (kind === 'undecided') {
    return `waits for the API server to list the nodes that match ${waitsFor.join('; ')}`;
  }
  if (kind === 'withheld')
    return 'all its traffic goes to the cloud, to which its address is routed';
  if (decided !== undefined) return filteredText(decided, total);
  return UNMANAGED[kind === 'hidden' ? 'other-proxy' : (reason ?? 'no-policy')];
}

const LOCAL_STAY = 'endpoints on this node are shown, because externalTrafficPolicy is Local';

/** kube-proxy refuses the connections of a Service that has no endpoint it can use; a headless one has only a name. */
function filteredText(
  { policy: { keys, dryRun, headless }, decision }: DecidedEndpoints,
  total: number,
): string {
  const { ports, keep, added } = decision;
  const failsAs = (isDryRun: boolean): string =>
    headless === true
      ? `its name ${isDryRun ? 'would have' : 'has'} no address on this node`
      : `kube-proxy on this node ${isDryRun ? 'would refuse' : 'refuses'} its connections`;
  // A policy has no part in these, in a dry run neither.
  if (total === 0) return `${CATALOGUE['no-endpoints'].text}, so ${failsAs(false)}`;
  if (ports.length === 0) return CATALOGUE['other-family'].text;
  if (ports.every(({ stage }) => stage === 'none')) {
    return `no endpoint has a port of the Service, so ${failsAs(false)}`;
  }
  const names = keys.join(', ');
  const fails = failsAs(dryRun === true);
  if (!keep.includes(1)) return `no endpoint matches ${names}, so ${fails}`;
  if (ports.every(({ key }) => key < 0)) {
    const none = `no endpoint that matches ${names} is ready`;
    return added === 0 ? `${none}, so ${fails}` : `${none}; ${LOCAL_STAY}`;
  }
  return ports.some(({ stage }) => stage === 'ready')
    ? `the first of ${names} with enough ready endpoints wins`
    : `the first of ${names} wins whose endpoints still serve while they terminate, because none is ready`;
}
