import type { Endpoint } from '../../topology/decide/endpoint.ts';
import {
  type OutcomeProblem,
  outcomeKind,
  type ServiceOutcome,
} from '../../topology/explain/service-outcome.ts';
import type { Policy } from '../../topology/policy/policy.ts';
import type { Answer } from './decision-journal.ts';
import type { EndpointsObject } from './endpoint-index.ts';

export interface OutcomeInput {
  readonly service: string;
  /** In force; undefined: the first policy is pending. */
  readonly policy: Policy | undefined;
  /** The latest policy, in force or pending. */
  readonly wanted: Policy;
  /** The last decision; undefined: the Service has no endpoints objects. */
  readonly answer: Answer | undefined;
  readonly objects: readonly EndpointsObject[];
}

/** What was decided last about a Service. Decides nothing: it reads what is stored. */
export function outcomeOf(input: OutcomeInput): ServiceOutcome {
  const { service, policy, wanted, answer, objects } = input;
  // Endpoints may wait for the nodes of a zone before the first decision.
  const isDecided = policy?.managed !== true || answer !== undefined || objects.length === 0;
  const kind = outcomeKind(isDecided ? policy : undefined, answer?.id === 'withheld');
  const dryRun = (policy ?? wanted).dryRun === true;
  const { total, shown, hasUsable } = countObjects(objects);
  const isFiltered = kind === 'filtered' && !dryRun;
  const problem = isFiltered ? problemOf(total, shown, hasUsable, objects) : invalid(policy);
  return {
    service,
    kind,
    dryRun,
    winners: winnersOf(kind, answer),
    total,
    kept: keptOf(kind, answer, shown, total),
    ...(problem === undefined ? {} : { problem }),
  };
}

function winnersOf(kind: ServiceOutcome['kind'], answer: Answer | undefined): string[] {
  if (kind !== 'filtered' || answer === undefined || answer.winner === 'none') return [];
  return answer.winner.split(', ').sort();
}

function keptOf(
  kind: ServiceOutcome['kind'],
  answer: Answer | undefined,
  shown: number,
  total: number,
): number {
  if (kind === 'unfiltered') return total;
  // In a dry run all are shown.
  return kind === 'filtered' ? (answer?.kept ?? shown) : 0;
}

function invalid(policy: Policy | undefined): OutcomeProblem | undefined {
  const isInvalid = policy?.managed === false && policy.reason === 'invalid-policy';
  return isInvalid ? 'invalidPolicy' : undefined;
}

function problemOf(
  total: number,
  shown: number,
  hasUsable: boolean,
  objects: readonly EndpointsObject[],
): OutcomeProblem | undefined {
  if (total === 0 || hasUsable) return undefined;
  if (shown === 0) return 'withoutEndpoints';
  const isAnyUsable = objects.some(({ groups }) =>
    groups.some(({ endpoints }) => endpoints.some(isUsable)),
  );
  return isAnyUsable ? 'withoutReady' : 'noneReady';
}

interface Numbers {
  readonly total: number;
  readonly shown: number;
  /** Whether one that is shown can be used. */
  readonly hasUsable: boolean;
}

/** Each scrape counts all Services, so that endpoints are visited only where a mask or their state requires it. */
function countObjects(objects: readonly EndpointsObject[]): Numbers {
  let total = 0;
  let shown = 0;
  let hasUsable = false;
  for (const { groups, keep } of objects) {
    // The mask has one entry for each endpoint of all groups.
    let offset = total;
    const start = total;
    for (const { endpoints } of groups) {
      total += endpoints.length;
      if (keep === undefined) hasUsable ||= endpoints.some(isUsable);
      else {
        for (const endpoint of endpoints) {
          if (keep[offset++ - start] !== 1) continue;
          shown++;
          hasUsable ||= isUsable(endpoint);
        }
      }
    }
    if (keep === undefined) shown += total - start;
  }
  return { total, shown, hasUsable };
}

/** kube-proxy also sends traffic to an endpoint that terminates and still serves, if none is ready. */
function isUsable({ state }: Endpoint): boolean {
  return state !== 'notReady';
}
