/*
 * The room `diagnosis`: what is wrong with a Service or this node, and what to do.
 *
 * - catalogue.ts: all problems of Services and policies, which explain, simulate, /status and the page name
 * - service-problems.ts: problems that explain and simulate find in the same way
 * - explain/: how this node decides about a Service, and why
 * - reading/: what the running node is
 */

import { firstFew } from '../util/first-few.ts';

/** `warning`: probably a mistake; `info`: intended, but worth knowing. */
export type Severity = 'warning' | 'info';

const LOOK_AT_PODS = 'look at the Pods; kubectl describe pod says why one is not ready';
const END_WITH_ANY =
  'look at the Pods, label the nodes, or end the policy with another key or with *';
const CORRECT_KEY = 'correct the key, or label the nodes';

/** Probable mistakes: what is wrong, without names, and what the reader can do. docs/commands.md has them too. */
export const WARNINGS = {
  'invalid-policy': {
    text: 'the policy is invalid, so all endpoints are shown',
    next: 'correct the annotation; docs/policies.md has the format',
  },
  'policy-without-effect': {
    text: 'the policy has no effect',
    next: 'remove the annotation, or change how the Service is served',
  },
  'annotation-ignored': {
    text: 'an annotation has no effect',
    next: 'correct or remove the annotation; docs/policies.md has the names',
  },
  'min-ready-without-key': {
    text: 'min-ready names keys that the policy does not have',
    next: 'add the keys to the policy, or correct the annotation min-ready',
  },
  'node-set-refused': {
    text: 'the API server refuses to list the nodes of a key',
    next: 'grant the right to list nodes',
  },
  'node-set-limit': {
    text: 'a node set that the policy needs has no room, so all endpoints are shown',
    next: 'raise maxNodeSets, or allow fewer keys with allowedTopologyKeys',
  },
  'service-too-large': {
    text: 'the Service is too large to decide, so all endpoints are shown',
    next: 'divide the Service; docs/policies.md has the limits',
  },
  'community-empty': {
    text: 'this node is in no community, so the key matches nothing',
    next: CORRECT_KEY,
  },
  'key-misspelt': {
    text: 'this node lacks the label of the key, which is probably misspelt',
    next: CORRECT_KEY,
  },
  'own-label-missing': {
    text: 'this node lacks the label of the key, so it matches nothing',
    next: CORRECT_KEY,
  },
  'label-lost': {
    text: 'this node lacks a label that its last Node had',
    next: 'label the node; a restart of the wrapper forgets the label',
  },
  'key-without-nodes': {
    text: 'no node matches the key',
    next: CORRECT_KEY,
  },
  'no-endpoint': {
    text: 'the policy leaves no ready endpoint, so connections fail',
    next: END_WITH_ANY,
  },
  'nothing-matches': {
    text: 'no key matches any endpoint, so the policy leaves none',
    next: END_WITH_ANY,
  },
  'none-ready': {
    text: 'no endpoint that the policy leaves is ready, so connections fail',
    next: LOOK_AT_PODS,
  },
  'too-few-ready': {
    text: 'no key has as many ready endpoints as minReady requires',
    next: LOOK_AT_PODS,
  },
  'port-without-endpoints': {
    text: 'no endpoint has this port of the Service, so connections fail',
    next: 'give the Service and its EndpointSlices the same names of ports',
  },
  'port-without-number': {
    text: 'EndpointSlices have a port without a number, which kube-proxy ignores',
    next: 'set the number of the port in the EndpointSlice',
  },
  'no-slices': {
    text: 'the Service has a selector, and no EndpointSlice that kube-proxy reads',
    next: 'see whether kube-controller-manager runs, and kubectl get endpointslices --show-labels: one with the label service.kubernetes.io/headless is not read',
  },
  'slices-headless': {
    text: 'kube-proxy does not read EndpointSlices with the label of a headless Service',
    next: 'delete them; kube-controller-manager writes them again without the label service.kubernetes.io/headless',
  },
  'slices-left': {
    text: 'EndpointSlices are no longer updated, because the selector of the Service was removed or added',
    next: 'delete them',
  },
  'slice-without-label': {
    text: 'an EndpointSlice has the name of the Service, and belongs to none',
    next: 'give the EndpointSlice the label kubernetes.io/service-name',
  },
  'other-family': {
    text: 'no endpoint has an address family of the Service, so connections fail',
    next: 'compare spec.ipFamilies of the Service with the addressType of its EndpointSlices',
  },
  'imported-slices': {
    text: 'keys match endpoints of another cluster, whose nodes have the same names',
    next: 'give the nodes of the clusters different names, or annotate the Service with filter "off"',
  },
  'change-pending': {
    text: 'a change waits for node sets, and the previous decision remains',
    next: 'wait; if it lasts, see /readyz',
  },
} as const satisfies Record<string, { readonly text: string; readonly next: string }>;

/** What is intended, but worth knowing. */
const NOTES = {
  'no-relay': { text: 'no relay is ready here, so this node reads from the API server' },
  'no-endpoints': { text: 'the Service has no endpoints' },
  'no-other-node': { text: 'no other node is known to match the key' },
  'endpoint-without-node': {
    text: 'endpoints without a node match only *, and the key of the zone if their slice says so',
  },
  'copies-cut': {
    text: 'endpoints with the same address and port are shown once, because kube-proxy uses one',
  },
  'local-endpoints-kept': {
    text: 'endpoints on this node are shown although no key that wins matches them, because externalTrafficPolicy is Local; traffic inside the cluster uses them too',
  },
  'dry-run': {
    text: 'dry run: all endpoints are shown; this is what the policy would do',
  },
  'default-overridden': { text: 'another source of topology keys is overridden' },
  'hints-overridden': {
    text: 'the topology keys of the Service override its own request for hints',
  },
  'hints-cut': {
    text: 'topology hints are removed, because kube-proxy would apply them to the remaining endpoints',
  },
} as const;

/** All problems: each code with its only text. A code is stable, because machines read it. */
export const CATALOGUE: Readonly<
  Record<
    keyof typeof WARNINGS | keyof typeof NOTES,
    { readonly text: string; readonly next?: string }
  >
> = { ...WARNINGS, ...NOTES };

/** Codes of problems with which the traffic of a Service fails on this node, unless the policy is a dry run. */
export const FAILING_CODES: readonly string[] = [
  'nothing-matches',
  'none-ready',
  'port-without-endpoints',
  'other-family',
];

export type ProblemCode = keyof typeof CATALOGUE;

/** Something that an operator may need to know about a Service. */
export interface Problem {
  readonly code: ProblemCode;
  readonly severity: Severity;
  /** The text of the catalogue, and what it is about here. */
  readonly message: string;
  /** What the reader can do; absent: nothing, or a wrapper of an earlier version has answered. */
  readonly next?: string | undefined;
}

/**
 * @param about names, and details of this case
 * @param severity default: as the code
 */
export function problem(
  code: ProblemCode,
  about: string | number = '',
  severity: Severity = Object.hasOwn(WARNINGS, code) ? 'warning' : 'info',
): Problem {
  const { text, next } = CATALOGUE[code];
  const message = about === '' ? text : `${text}: ${about}`;
  return { code, severity, message, next: severity === 'warning' ? next : undefined };
}

/** A problem of a topology key. @param meant what the key was probably meant to be */
export function problemOfKey(code: ProblemCode, key: string, meant: string | undefined): Problem {
  return problem(code, meant === undefined ? key : `${key}; did you mean ${meant}?`);
}

/** The problem that these ports, slices or keys have, if there are any. */
export function problemOf(code: ProblemCode, names: readonly string[]): Problem[] {
  return names.length === 0 ? [] : [problem(code, namesIn(names))];
}

/** A list as a problem names it: up to 20 of them. */
export function namesIn(names: readonly string[]): string {
  return firstFew(names, 20);
}
