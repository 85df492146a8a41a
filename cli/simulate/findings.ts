import {
  type Problem,
  type ProblemCode,
  problem,
  problemOfKey,
} from '../../src/diagnosis/catalogue.ts';
import { policyProblems, portProblems } from '../../src/diagnosis/service-problems.ts';
import { nearestLabel } from '../../src/topology/policy/similar-key.ts';
import type { OutcomeProblem } from '../../src/topology/state/service-outcome.ts';
import type { ProblemOfService } from '../output/format-problems.ts';
import { answerOn } from './matrix.ts';
import type { SimulatedService } from './simulated-service.ts';
import type { Simulation } from './simulation.ts';

/** A problem that a rollout would cause. Only the severity `warning` affects the exit code. */
export interface Finding extends ProblemOfService {
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

/** What is wrong with the policies, the warnings first. */
export function findingsOf(simulation: Simulation): Finding[] {
  const ofKeys = simulation.emptyKeys.map((key) => {
    const meant = nearestLabel(key, simulation.labels);
    return { ...problemOfKey('key-without-nodes', key, meant), service: '', subjects: [] };
  });
  const ofServices = simulation.services.flatMap((each) => findingsOfService(simulation, each));
  const order = { warning: 0, info: 1 };
  return [...ofKeys, ...ofServices].sort((a, b) => order[a.severity] - order[b.severity]);
}

function findingsOfService(simulation: Simulation, service: SimulatedService): Finding[] {
  const { policy, mismatched, unnumbered, sliceProblems } = service;
  const ofService = (found: Problem, subjects: readonly Subject[] = []): Finding => ({
    ...found,
    service: service.service,
    subjects,
  });
  const having = (code: ProblemCode, subjects: readonly Subject[]): Finding[] =>
    subjects.length === 0 ? [] : [ofService(problem(code), subjects)];
  const ofPolicy = policyProblems(policy).map((each) => ofService(each));
  if (!policy.managed) return ofPolicy;
  const findings = [
    ...ofPolicy,
    ...(policy.ofRelays ? [] : having('no-endpoint', withoutEndpoint(simulation, service))),
    ...(['node-set-limit', 'service-too-large'] as const).flatMap((limit) =>
      having(limit, nodesWith(simulation, service, limit)),
    ),
    ...[...portProblems(mismatched, unnumbered)].flatMap(([code, ports]) =>
      having(code, ports.map(named)),
    ),
    ...sliceProblems.map(([found, slices]) => ofService(found, slices?.map(named))),
  ];
  return policy.dryRun === true ? findings.map(ofDryRun) : findings;
}

/** In a dry run a finding is not a problem yet. Its message differs, so that it is new once the dry run ends. */
function ofDryRun(found: Finding): Finding {
  return { ...found, severity: 'info', next: undefined, message: `dry run: ${found.message}` };
}

/** Nodes from which connections fail: to all ports and address families that have usable endpoints, or to some. */
function withoutEndpoint({ nodes }: Simulation, service: SimulatedService): Subject[] {
  return nodes.flatMap((name, node): Subject[] => {
    const { lost, isAllLost } = answerOn(service, node);
    if (isAllLost) return [named(name)];
    return lost.map((port) => ({ id: `${name} ${port}`, text: `${name} (${port})`, within: name }));
  });
}

/** Nodes on which a limit keeps the policy from applying. */
function nodesWith(
  { nodes }: Simulation,
  service: SimulatedService,
  limit: ProblemCode & OutcomeProblem,
): Subject[] {
  return nodes.filter((_, node) => answerOn(service, node).problem === limit).map(named);
}

function named(name: string): Subject {
  return { id: name, text: name };
}
