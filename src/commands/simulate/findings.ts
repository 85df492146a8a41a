import { ANY_KEY } from '../../topology/policy/topology-keys.ts';
import { printLine } from '../../untrusted-text.ts';
import { some } from '../output/format-output.ts';
import type { Answer, SimulatedService } from './simulated-service.ts';
import type { Simulation } from './simulation.ts';

/** A problem that a rollout would cause. */
export interface Finding {
  readonly code:
    | 'no-endpoint'
    | 'port-without-endpoints'
    | 'overload'
    | 'key-without-nodes'
    | 'invalid-policy'
    | 'annotation-ignored'
    | 'key-unused';
  /** Only `warning` affects the exit code. */
  readonly severity: 'warning' | 'info';
  /** Empty if the finding is not about one Service. */
  readonly service: string;
  /** Only if the finding is about one topology key of all Services. */
  readonly key?: string;
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
  const subjectList = list.length === 0 ? '' : `${number}: ${some(list)}`;
  return printLine(`${severity === 'warning' ? '!' : 'i'} ${about}${message}${subjectList}`);
}

/** An endpoint with more than this many times the mean load is a finding. A node of 5 that serves the others has 5. */
const MAX_LOAD = 5;

/** What is wrong with the policies, the warnings first. */
export function findingsOf(simulation: Simulation): Finding[] {
  const findings = simulation.emptyKeys.map((key): Finding => {
    const message = `no node has a label for ${key}: the key has no effect anywhere`;
    return { ...finding('key-without-nodes', '', message), key };
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
    ...mismatched(service),
    ...overloaded(service),
    ...unusedKeys(service),
  ];
  return policy.dryRun === true ? findings.map(ofDryRun) : findings;
}

/** In a dry run a finding is not a problem yet. Its message differs, so that it is new once the dry run ends. */
function ofDryRun(found: Finding): Finding {
  return { ...found, severity: 'info', message: `dry run: ${found.message}` };
}

/** Nodes from which connections fail: to all ports and address families that have usable endpoints, or to some. */
function withoutEndpoint({ nodes }: Simulation, service: SimulatedService): Finding[] {
  const { answers, byNode, ports } = service;
  const subjects = nodes.flatMap((name, node): Subject[] => {
    const { lost } = answers[byNode[node] as number] as Answer;
    if (lost.length > 0 && lost.length === ports.length) return [{ id: name, text: name }];
    return lost.map((port) => ({
      id: `${name} ${port}`,
      text: `${name} (${port})`,
      within: name,
    }));
  });
  if (subjects.length === 0) return [];
  return [{ ...finding('no-endpoint', service.service, 'no endpoint left on'), subjects }];
}

/** kube-proxy matches the ports of Service and slices by name and protocol. The policy has no part in this. */
function mismatched({ service, mismatched: ports }: SimulatedService): Finding[] {
  if (ports.length === 0) return [];
  const message = 'no endpoint has a port of this name and protocol, so connections fail';
  const subjects = ports.map((port) => ({ id: port, text: port }));
  return [{ ...finding('port-without-endpoints', service, message), subjects }];
}

/** The endpoints that kube-proxy would use: the ready ones, else those that are serving while they terminate. */
export function usable({ endpoints }: SimulatedService, { shown }: Answer): readonly number[] {
  const inState = (state: string): number[] => {
    const found = shown.filter((index) => endpoints[index]?.state === state);
    // One that is in two slices is one backend.
    return [...new Map(found.map((index) => [endpoints[index]?.address, index])).values()];
  };
  const ready = inState('ready');
  return ready.length > 0 ? ready : inState('serving');
}

/** Assumes that each node sends the same traffic, spread evenly over the endpoints that it sees. */
function overloaded(service: SimulatedService): Finding[] {
  const { endpoints, answers, byNode } = service;
  const nodesOf = new Uint32Array(answers.length);
  for (const answer of byNode) nodesOf[answer] = (nodesOf[answer] ?? 0) + 1;
  const load = new Float64Array(endpoints.length);
  let total = 0;
  answers.forEach((answer, index) => {
    const targets = usable(service, answer);
    const nodes = nodesOf[index] as number;
    if (targets.length > 0) total += nodes;
    for (const target of targets) {
      load[target] = (load[target] as number) + nodes / targets.length;
    }
  });
  const ready = endpoints.filter(({ state }) => state === 'ready');
  const mean = total / new Set(ready.map(({ address }) => address)).size;
  if (ready.length === 0) return [];
  const heavy = endpoints.flatMap(({ address, node }, index) => {
    const times = (load[index] as number) / mean;
    const text = `${address} on ${node || 'no node'} ${times.toFixed(1)} times`;
    return times > MAX_LOAD ? [{ times, id: address, text }] : [];
  });
  if (heavy.length === 0) return [];
  const subjects = heavy.sort((a, b) => b.times - a.times).map(({ id, text }) => ({ id, text }));
  const message = `more than ${MAX_LOAD} times the mean load`;
  return [{ ...finding('overload', service.service, message), subjects }];
}

/** Keys that win on no node, because an earlier key always wins or because they match nothing. */
function unusedKeys({ service, policy, answers }: SimulatedService): Finding[] {
  if (!policy.managed) return [];
  const won = new Set(answers.flatMap(({ winners }) => winners));
  if (won.size === 0) return [];
  return policy.keys
    .filter((key) => key !== ANY_KEY && !won.has(key))
    .map((key) =>
      finding('key-unused', service, `${key} does not win on any node at present`, 'info'),
    );
}

function finding(
  code: Finding['code'],
  service: string,
  message: string,
  severity: Finding['severity'] = 'warning',
): Finding {
  return { code, severity, service, message, subjects: [] };
}
