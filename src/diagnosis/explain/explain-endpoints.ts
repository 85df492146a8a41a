import type { Decision } from '../../topology/decide/decide.ts';
import {
  countEndpoints,
  type Endpoint,
  type EndpointGroup,
  groupsOf,
} from '../../topology/decide/endpoint.ts';
import type { ManagedPolicy } from '../../topology/policy/policy.ts';
import type { OutcomeKind } from '../../topology/state/service-outcome.ts';
import { endpointReasons } from './endpoint-reasons.ts';
import type { EndpointExplanation } from './explanation.ts';

/** An EndpointSlice or Endpoints object of the Service. */
export interface ExplainedObject {
  readonly name: string;
  readonly hinted: boolean;
  readonly groups: readonly EndpointGroup[];
  /** First address of each endpoint, in the order of the groups, flattened. Only read for endpoints that are listed. */
  readonly addresses: () => readonly string[];
  /** Whether an endpoint, by the same index, is shown now. Only read for a Service without a decision. */
  readonly isShown: (index: number) => boolean;
  /** Ports without a number, as in EndpointGroup.ports. Only read if a port has no endpoint. */
  readonly unnumbered: () => readonly string[];
  /** See sourceClusterOf. Only read if a key matches an endpoint by its node. */
  readonly sourceCluster: () => string | undefined;
}

/** The decision about the endpoints of a managed Service, and its policy. */
export interface DecidedEndpoints {
  readonly policy: ManagedPolicy;
  readonly decision: Decision;
}

/** Endpoints up to a limit, and how many there are. */
export interface ListedEndpoints {
  /** Those that are kept come first. */
  readonly endpoints: readonly EndpointExplanation[];
  readonly kept: number;
  readonly ready: number;
}

/**
 * Lists endpoints up to the limit, those that are kept first, and counts all that are kept.
 *
 * @param noteOf what is worth knowing of an endpoint besides
 */
export function explainEndpoints(
  objects: readonly ExplainedObject[],
  decided: DecidedEndpoints | undefined,
  outcome: OutcomeKind,
  limit: number,
  noteOf: (endpoint: Endpoint) => string | undefined = () => undefined,
): ListedEndpoints {
  const keep = keptEndpoints(objects, decided, outcome);
  const reasons =
    decided && limit > 0 ? endpointReasons(decided.decision, decided.policy.keys) : undefined;
  const lists = { kept: [] as EndpointExplanation[], left: [] as EndpointExplanation[] };
  let [all, kept, ready] = [0, 0, 0];
  for (const { name, addresses, groups } of objects) {
    let index = 0;
    for (const { ports, endpoints } of groups) {
      for (const endpoint of endpoints) {
        const { node, zone, state } = endpoint;
        const isKept = keep[all] === 1;
        if (isKept) kept++;
        if (isKept && state === 'ready') ready++;
        const list = isKept ? lists.kept : lists.left;
        if (list.length < limit) {
          const address = addresses()[index] ?? '';
          const note = reasons && noteOf(endpoint);
          const why = reasons?.(ports, endpoint, all) ?? outcome;
          const reason = note === undefined ? why : `${why}; ${note}`;
          list.push({ address, node, zone, state, object: name, kept: isKept, reason });
        }
        index++;
        all++;
      }
    }
  }
  return { endpoints: [...lists.kept, ...lists.left].slice(0, limit), kept, ready };
}

/** One entry for each endpoint: 1 is kept, 0 is left out. */
function keptEndpoints(
  objects: readonly ExplainedObject[],
  decided: DecidedEndpoints | undefined,
  outcome: OutcomeKind,
): Uint8Array {
  const keep = new Uint8Array(countEndpoints(groupsOf(objects)));
  if (outcome === 'withheld') return keep;
  if (decided !== undefined) return decided.decision.keep;
  if (outcome === 'unfiltered') return keep.fill(1);
  if (outcome !== 'undecided') return keep;
  let start = 0;
  for (const { groups, isShown } of objects) {
    const count = countEndpoints(groups);
    for (let index = 0; index < count; index++) if (isShown(index)) keep[start + index] = 1;
    start += count;
  }
  return keep;
}
