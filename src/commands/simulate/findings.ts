import { ANY_KEY } from '../../topology/policy/topology-keys.ts';
import { printLine } from '../../untrusted-text.ts';
import type { Answer, SimulatedService, Simulation } from './simulation.ts';

/** Something that a rollout would run into. */
export interface Finding {
  readonly code: 'no-endpoint' | 'overload' | 'key-without-nodes' | 'invalid-policy' | 'key-unused';
  /** `warning` makes the exit code; `info` does not. */
  readonly severity: 'warning' | 'info';
  /** Empty for what concerns all. */
  readonly service: string;
  readonly message: string;
  /** What it is about: nodes, or endpoints. Empty: the Service as a whole. */
  readonly subjects: readonly Subject[];
}

export interface Subject {
  /** The same in another simulation. */
  readonly id: string;
  readonly text: string;
  /** Id of a subject that says this and more: where that one was found before, this is nothing new. */
  readonly within?: string;
}

/** What was not found before; of what was, only the subjects that are new. */
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

/** One line for a terminal. */
export function formatFinding({ severity, service, message, subjects }: Finding): string {
  const about = service === '' ? '' : `${service}: `;
  const list = subjects.map(({ text }) => text);
  const number = list.length > 1 ? ` (${list.length})` : '';
  const whom = list.length === 0 ? '' : `${number}: ${some(list)}`;
  return printLine(`${severity === 'warning' ? '!' : 'i'} ${about}${message}${whom}`);
}

/** @param maxLoad times the mean load that an endpoint may take; 0: any */
export function findingsOf(simulation: Simulation, maxLoad: number): Finding[] {
  const findings = simulation.emptyKeys.map((key) =>
    finding('key-without-nodes', '', `no node carries ${key}: the key has no effect anywhere`),
  );
  for (const service of simulation.services) {
    findings.push(...findingsOfService(simulation, service, maxLoad));
  }
  const order = { warning: 0, info: 1 };
  return findings.sort((a, b) => order[a.severity] - order[b.severity]);
}

function findingsOfService(
  simulation: Simulation,
  service: SimulatedService,
  maxLoad: number,
): Finding[] {
  const { policy } = service;
  if (!policy.managed) {
    if (policy.reason !== 'invalid-policy') return [];
    return [finding('invalid-policy', service.service, policy.message ?? 'invalid policy')];
  }
  const findings = [
    ...cutOff(simulation, service),
    ...(maxLoad > 0 ? overloaded(service, maxLoad) : []),
    ...unusedKeys(simulation, service),
  ];
  return policy.dryRun === true ? findings.map(ofDryRun) : findings;
}

/** Everything is shown: it would be so. Another message, so that it is new once the dry run ends. */
function ofDryRun(found: Finding): Finding {
  return { ...found, severity: 'info', message: `dry run: ${found.message}` };
}

/** Nodes from which connections fail, to all or some of the ports and families that could answer. */
function cutOff({ nodes }: Simulation, service: SimulatedService): Finding[] {
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

/** What kube-proxy would use: the ready ones, else those that serve while they terminate. */
export function usable({ endpoints }: SimulatedService, { shown }: Answer): readonly number[] {
  const ready = shown.filter((index) => endpoints[index]?.state === 'ready');
  return ready.length > 0 ? ready : shown.filter((index) => endpoints[index]?.state === 'serving');
}

/** Each node sends the same traffic, spread evenly over what it sees. */
function overloaded(service: SimulatedService, maxLoad: number): Finding[] {
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
  const ready = endpoints.filter(({ state }) => state === 'ready').length;
  const mean = total / ready;
  if (ready === 0) return [];
  const heavy = endpoints.flatMap(({ address, node }, index) => {
    const times = (load[index] as number) / mean;
    const text = `${address} on ${node || 'no node'} ${times.toFixed(1)} times`;
    return times > maxLoad ? [{ times, id: address, text }] : [];
  });
  if (heavy.length === 0) return [];
  const subjects = heavy.sort((a, b) => b.times - a.times).map(({ id, text }) => ({ id, text }));
  const message = `more than ${maxLoad} times the mean load`;
  return [{ ...finding('overload', service.service, message), subjects }];
}

/** Keys that win on no node, for an earlier one always does or they match nothing. */
function unusedKeys(
  { nodes }: Simulation,
  { service, policy, answers }: SimulatedService,
): Finding[] {
  if (!policy.managed || nodes.length === 0) return [];
  const won = new Set(answers.flatMap(({ winners }) => winners));
  if (won.size === 0) return [];
  return policy.keys
    .filter((key) => key !== ANY_KEY && !won.has(key))
    .map((key) => finding('key-unused', service, `${key} wins on no node as things are`, 'info'));
}

function finding(
  code: Finding['code'],
  service: string,
  message: string,
  severity: Finding['severity'] = 'warning',
): Finding {
  return { code, severity, service, message, subjects: [] };
}

/** The first few of a list. */
export function some(items: readonly string[], most = 5): string {
  const more = items.length > most ? ` and ${items.length - most} more` : '';
  return `${items.slice(0, most).join(', ')}${more}`;
}

export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
