import { printLine } from '../../src/text/untrusted-text.ts';
import type { PortDecision } from '../../src/topology/decide/decide.ts';
import { portLabel } from '../../src/topology/decide/endpoint.ts';
import { nearestLabel } from '../../src/topology/policy/similar-key.ts';
import { firstFew } from '../../src/util/first-few.ts';
import { answerOn } from './matrix.ts';
import type { SimulatedService } from './simulated-service.ts';
import type { Simulation } from './simulation.ts';
import type { SliceProblem } from './slice-problems.ts';

/** A problem that a rollout would cause. */
export interface Finding {
  readonly code:
    | 'no-endpoint'
    | 'port-without-endpoints'
    | 'port-without-number'
    | SliceProblem['code']
    | 'key-without-nodes'
    | 'invalid-policy'
    | 'node-set-limit'
    | 'annotation-ignored';
  /** Only `warning` affects the exit code. */
  readonly severity: 'warning' | 'info';
  /** Empty if the finding is not about one Service. */
  readonly service: string;
  readonly message: string;
  /** Affected nodes or endpoints. Empty: the whole Service. */
  readonly subjects: readonly Subject[];
}

export interface Subject {
  /** Identifies the subject across simulations. */
  readonly id: string;
  readonly text: string;
  /** Id of a subject that includes this one. If it was found before, this one is not new. */
  readonly within?: string;
}

/** The findings that are new. A finding that existed before is reduced to its new subjects. */
export function newFindings(before: readonly Finding[], after: readonly Finding[]): Finding[] {
  const known = new Map<string, Set<string>>();
  const idOf = ({ code, service, message }: Finding) => `${code} ${service} ${message}`;
  for (const each of before) {
    known.set(idOf(each), new Set(each.subjects.map(({ id }) => id)));
  }
  return after.flatMap((each) => {
    const old = known.get(idOf(each));
    if (old === undefined) return [each];
    const subjects = each.subjects.filter(
      ({ id, within }) => !old.has(id) && (within === undefined || !old.has(within)),
    );
    return subjects.length === 0 ? [] : [{ ...each, subjects }];
  });
}

/** Formats a finding as one line for a terminal. */
export function formatFinding({ severity, service, message, subjects }: Finding): string {
  const about = service === '' ? '' : `${service}: `;
  const list = subjects.map(({ text }) => text);
  const number = list.length > 1 ? ` (${list.length})` : '';
  const subjectList = list.length === 0 ? '' : `${number}: ${firstFew(list)}`;
  return printLine(`${severity === 'warning' ? '!' : 'i'} ${about}${message}${subjectList}`);
}

/** What is wrong with the policies, the warnings first. */
export function findingsOf(simulation: Simulation): Finding[] {
  const findings = simulation.emptyKeys.map((key) => {
    const near = nearestLabel(key, simulation.labels);
    const meant = near === undefined ? '' : `; did you mean ${near}?`;
    const message = `no node has a label for ${key}: the key has no effect anywhere${meant}`;
    return finding('key-without-nodes', '', message);
  });
  for (const service of simulation.services) {
    findings.push(...findingsOfService(simulation, service));
  }
  const order = { warning: 0, info: 1 };
  return findings.sort((a, b) => order[a.severity] - order[b.severity]);
}

function findingsOfService(simulation: Simulation, service: SimulatedService): Finding[] {
  const { policy } = service;
  const ignored = (policy.ignored ?? []).map((message) =>
    finding('annotation-ignored', service.service, message),
  );
  if (!policy.managed) {
    if (policy.reason !== 'invalid-policy') return ignored;
    const message = policy.message ?? 'invalid policy';
    return [finding('invalid-policy', service.service, message), ...ignored];
  }
  const findings = [
    ...ignored,
    ...withoutEndpoint(simulation, service),
    ...withoutNodeSet(simulation, service),
    ...mismatched(service),
    ...ofSlices(service),
  ];
  return policy.dryRun === true ? findings.map(ofDryRun) : findings;
}

/** In a dry run a finding is not a problem yet. Its message differs, so that it is new once the dry run ends. */
function ofDryRun(found: Finding): Finding {
  return { ...found, severity: 'info', message: `dry run: ${found.message}` };
}

/** Nodes from which connections fail: to all ports and address families that have usable endpoints, or to some. */
function withoutEndpoint({ nodes }: Simulation, service: SimulatedService): Finding[] {
  const subjects = nodes.flatMap((name, node): Subject[] => {
    const { lost, isAllLost } = answerOn(service, node);
    if (isAllLost) return [{ id: name, text: name }];
    return lost.map((port) => ({
      id: `${name} ${port}`,
      text: `${name} (${port})`,
      within: name,
    }));
  });
  if (subjects.length === 0) return [];
  return [{ ...finding('no-endpoint', service.service, 'no endpoint left on'), subjects }];
}

/** Nodes on which the policy does not apply, because policies need more node sets than `maxNodeSets`. */
function withoutNodeSet({ nodes }: Simulation, service: SimulatedService): Finding[] {
  const names = nodes.filter((_, node) => answerOn(service, node).problem === 'noNodeSet');
  if (names.length === 0) return [];
  const message = 'a node set that the policy needs has no room, so all endpoints are shown on';
  const subjects = names.map((name) => ({ id: name, text: name }));
  return [{ ...finding('node-set-limit', service.service, message), subjects }];
}

/** kube-proxy matches the ports of Service and slices by name and protocol. The policy has no part in this. */
function mismatched({ service, mismatched: ports, unnumbered }: SimulatedService): Finding[] {
  const [numberless, others] = [true, false].map((isNumberless) =>
    ports.filter(({ port }) => unnumbered.has(port) === isNumberless),
  ) as [PortDecision[], PortDecision[]];
  return [
    ...ofPorts(
      finding(
        'port-without-endpoints',
        service,
        'no endpoint has a port of this name and protocol, so connections fail',
      ),
      others,
    ),
    ...ofPorts(
      finding(
        'port-without-number',
        service,
        'EndpointSlices have this port without a number, which kube-proxy ignores',
      ),
      numberless,
    ),
  ];
}

function ofPorts(found: Finding, ports: readonly PortDecision[]): Finding[] {
  if (ports.length === 0) return [];
  const subjects = ports.map(portLabel).map((port) => ({ id: port, text: port }));
  return [{ ...found, subjects }];
}

function ofSlices({ service, sliceProblems }: SimulatedService): Finding[] {
  return sliceProblems.map(({ code, severity, message, subjects }) => ({
    ...finding(code, service, message),
    severity,
    subjects: subjects.map((each) => ({ id: each, text: each })),
  }));
}

function finding(code: Finding['code'], service: string, message: string): Finding {
  return { code, severity: 'warning', service, message, subjects: [] };
}
