import type { PolicySource } from '../../topology/policy/policy.ts';
import { ANY_KEY, ZONE_KEY } from '../../topology/policy/topology-keys.ts';

/** Something that an operator may need to know. */
export interface Warning {
  /** Stable, for machines. */
  readonly code: WarningCode;
  /** `info`: intended, but worth knowing; `warning`: probably a mistake. */
  readonly severity: 'info' | 'warning';
  readonly message: string;
}

/** A Service may request hints itself, and have an annotation that overrides them. */
export type HintsField =
  | 'spec.trafficDistribution'
  | 'annotation service.kubernetes.io/topology-mode';

/*
 * All warnings: each code with its text, and when it applies as a comment. explain-warnings.ts and explain-keys.ts
 * decide that.
 */

/** Probable mistakes; the table of docs/commands.md has them too. */
export const WARNINGS = {
  // The annotation, or that of the Namespace, cannot be read.
  'invalid-policy': (problem: string) =>
    `all endpoints are shown, because the policy is invalid: ${problem}`,
  // The Service has a policy of its own, and is not managed for another reason.
  'policy-without-effect': (annotation: string, reason: string) =>
    `its ${annotation} has no effect (${reason})`,
  // A misspelt or removed annotation, or the weaker of two.
  'annotation-ignored': (message: string) => message,
  // min-ready names keys that the policy lacks.
  'min-ready-without-key': (keys: string) =>
    `its min-ready names ${keys}, which are not among its topology keys, so this has no effect`,
  // A node set of a key is refused, or has no room.
  'node-set-refused': (isOverLimit: boolean, selector: string, key: string, result: string) =>
    `${isOverLimit ? 'the wrapper does not watch' : 'the API server does not let the wrapper read'} nodes with ${selector}, which ${key} needs; ${result}`,
  // This node is in no community.
  'community-empty': (key: string, node: string) =>
    `${key} matches nothing: node ${node} is in no community`,
  // This node lacks the label of a key that is almost a well-known one.
  'key-misspelt': (key: string, node: string, similar: string) =>
    `${key} matches nothing: node ${node} has no such label; did you mean ${similar}?`,
  // This node lacks the label of a key.
  'own-label-missing': (key: string, node: string) =>
    `${key} matches nothing: node ${node} has no such label (kubectl label node ${node} ${key}=…)`,
  // No node matches a key.
  'key-without-nodes': (key: string) => `${key} matches nothing: there is no such node`,
  // No slice has a port of the Service. A policy has no part in this.
  'port-without-endpoints': (ports: string, others: string) =>
    `${ports}: no endpoint has a port of this name and protocol, so connections fail${others && `; endpoints have ports that the Service lacks: ${others}`}`,
  // A slice has a port of the Service without a number.
  'port-without-number': (ports: string) =>
    `${ports}: the EndpointSlices have this port without a number, which kube-proxy ignores, so connections fail; set the number`,
  // A Service with a selector has no slice that kube-proxy reads.
  'no-slices': (service: string) =>
    `it has a selector, and kube-proxy reads no EndpointSlice of it: kube-controller-manager has written none, or they have the label service.kubernetes.io/headless; look with kubectl get endpointslices -n ${service.replace('/', ' -l kubernetes.io/service-name=')} --show-labels, and delete those with the label, which are then written again`,
  // A slice was written by hand, or by a program that forgets the label.
  'slice-without-label': () =>
    'an EndpointSlice of this name has no label kubernetes.io/service-name, so it belongs to no Service, and connections fail; set the label',
  // No slice has an address family of the Service.
  'other-family': () =>
    'no endpoint has an address family of the Service (spec.ipFamilies), so connections fail',
  // Imported slices name nodes of this cluster.
  'imported-slices': (slices: string) =>
    `EndpointSlices imported from elsewhere name nodes that this cluster has too, so keys match endpoints of another cluster: ${slices}; give the nodes different names`,
  // No key matches an endpoint of a port; without names: of all ports.
  'nothing-matches': (ports: string, keepsLocal: boolean) =>
    `${ports && `${ports}: `}no key matches any endpoint, so ${keepsLocal ? 'only endpoints on this node are shown' : 'connections fail'}; ${ANY_KEY} as the last key would allow any endpoint`,
  // The winner of a port has fewer ready endpoints than it needs.
  'too-few-ready': (port: string, why: string) => `${port}: ${why}`,
  // The endpoints that a port shows are not ready.
  'none-ready': (port: string, why: string) => `${port}: ${why}`,
  // New labels or a new policy wait for a node set.
  'change-pending': (isNewPolicy: boolean, selectors: readonly string[]) =>
    `${isNewPolicy ? 'a new policy' : 'a change of this node'} becomes active once nodes with ${selectors.join('; ')} are known; until then the previous decision remains`,
} as const;

/** What is intended, but worth knowing. */
const NOTES = {
  'no-endpoints': (hasSelector: boolean) =>
    `the Service has no endpoints at all${hasSelector ? ': no Pod that has an address matches its selector' : ''}`,
  // Only this node matches a key.
  'no-other-node': (key: string) =>
    `${key} matches this node only: no other node is known to match`,
  'endpoint-without-node': (count: number) =>
    `${count} endpoints have no node; they match only ${ANY_KEY}, and ${ZONE_KEY} if their slice says so`,
  // Several endpoints have one address and port.
  'copies-cut': (count: number) =>
    `${count} endpoints are copies of others, with the same address and port; kube-proxy uses one of them, and only that is shown`,
  // externalTrafficPolicy keeps endpoints that no winner does.
  'local-endpoints-kept': (count: number) =>
    `externalTrafficPolicy is Local: ${count} endpoints on this node are shown although another key or none wins; traffic inside the cluster uses them too`,
  'dry-run': () => 'dry run: all endpoints are shown; this is what the policy would do',
  // The policy overrides another source of keys.
  'default-overridden': (source: PolicySource, keys: string) =>
    `overrides ${source === 'default' ? 'the default of the settings' : `the ${source}`} (${keys})`,
  // The policy overrides what the Service requests from Kubernetes itself.
  'hints-overridden': (field: HintsField) =>
    `its topology keys override its own ${field}: kube-proxy gets no topology hints`,
  'hints-cut': () =>
    'topology hints are removed, because kube-proxy would apply them to the remaining endpoints',
} as const;

const TEXTS = { ...WARNINGS, ...NOTES };

export type WarningCode = keyof typeof TEXTS;

/** A warning with this code. @param about what its text names */
export function warn<Code extends WarningCode>(
  code: Code,
  ...about: Parameters<(typeof TEXTS)[Code]>
): Warning {
  const text: (...about: never[]) => string = TEXTS[code];
  const severity = code in WARNINGS ? 'warning' : 'info';
  return { code, severity, message: text(...(about as never[])) };
}
