import { printLine } from '../../src/text/untrusted-text.ts';
import { firstFew } from '../../src/util/first-few.ts';
import { plural } from '../output/format-output.ts';
import { type Finding, formatFinding } from './findings.ts';

/** More findings of one kind than this are summed up in one line. */
const MAX_LINES: Readonly<Record<Finding['severity'], number>> = { warning: 20, info: 5 };
/** Services that such a line names. */
const NAMED = 3;

/** Formats findings for a terminal, those of one kind together. Many of one kind become one line. */
export function formatFindings(findings: readonly Finding[]): string {
  const kinds = Map.groupBy(findings, ({ code, severity }) => `${severity} ${code}`);
  return Array.from(kinds.values(), (kind) => `${formatKind(kind)}${adviceOf(kind)}`).join('');
}

function formatKind(findings: readonly Finding[]): string {
  const [first] = findings;
  if (first === undefined || findings.length <= MAX_LINES[first.severity]) {
    return findings.map(formatFinding).join('');
  }
  const services = [...new Set(findings.map(({ service }) => service))];
  const sign = first.severity === 'warning' ? '!' : 'i';
  const what = `${plural(services.length, 'Service')}: ${KINDS[first.code].meaning}`;
  return printLine(
    `${sign} ${what} (${first.code}): ${firstFew(services, NAMED)}; all are in -o json`,
  );
}

/** What the reader can do about warnings of one kind. */
function adviceOf([first]: readonly Finding[]): string {
  return first?.severity === 'warning' ? printLine(`    next: ${KINDS[first.code].next}`) : '';
}

interface Kind {
  /** Without the names of a single finding. */
  readonly meaning: string;
  readonly next: string;
}

const KINDS: Readonly<Record<Finding['code'], Kind>> = {
  'no-endpoint': {
    meaning: 'no endpoint left on some nodes',
    next: 'end the policy with another key or with *, or label the nodes',
  },
  'port-without-endpoints': {
    meaning: 'no endpoint has a port of the Service',
    next: 'give the Service and its EndpointSlices the same names of ports',
  },
  'port-without-number': {
    meaning: 'a port of the EndpointSlices has no number',
    next: 'set the number of the port in the EndpointSlice',
  },
  'slices-headless': {
    meaning: 'kube-proxy does not read their EndpointSlices, which have the label of headless ones',
    next: 'delete these EndpointSlices; kube-controller-manager writes them again without the label',
  },
  'no-slices': {
    meaning: 'they have a selector and no EndpointSlice',
    next: 'look whether kube-controller-manager runs; kubectl describe endpointslices shows what it wrote',
  },
  'slice-without-label': {
    meaning: 'an EndpointSlice has their name, and no label with the name of a Service',
    next: 'give the EndpointSlice the label kubernetes.io/service-name',
  },
  'other-family': {
    meaning: 'no endpoint has an address of the family of the Service',
    next: 'compare spec.ipFamilies of the Service with the addressType of its EndpointSlices',
  },
  'imported-slices': {
    meaning: 'imported EndpointSlices name nodes of this cluster',
    next: 'give the nodes of the clusters different names, or annotate the Service with filter "off"',
  },
  'key-without-nodes': {
    meaning: 'no node has the label of a key',
    next: 'check the spelling of the key, or label the nodes',
  },
  'invalid-policy': {
    meaning: 'the policy is invalid, so all endpoints are shown',
    next: 'correct the annotation; docs/policies.md has the format',
  },
  'node-set-limit': {
    meaning: 'a node set of the policy has no room, so all endpoints are shown on some nodes',
    next: 'raise maxNodeSets, or allow fewer keys with allowedTopologyKeys',
  },
  'annotation-ignored': {
    meaning: 'an annotation is ignored, because it is misspelt, removed or contradicts another',
    next: 'correct or remove the annotation; docs/policies.md has the names',
  },
};
