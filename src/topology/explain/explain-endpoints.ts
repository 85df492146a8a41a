import { countEndpoints, type Decision } from '../decide/decide.ts';
import type { Endpoint, EndpointGroup } from '../decide/endpoint.ts';
import { endpointReasons, type ReasonOf } from '../decide/endpoint-reasons.ts';
import { STEP, type Steps } from '../decide/steps.ts';
import type { ManagedPolicy } from '../policy/policy.ts';
import type { EndpointExplanation, OutcomeKind } from './explanation.ts';

/** An EndpointSlice or Endpoints object of the Service. */
export interface ExplainedObject {
  readonly name: string;
  readonly hinted: boolean;
  readonly groups: readonly EndpointGroup[];
  /** First address of each endpoint, in the order of the groups, flattened. Only read for endpoints that are listed. */
  readonly addresses: readonly string[];
  /** Whether an endpoint, by the same index, is shown now. Only read for a Service without a decision. */
  readonly isShown: (index: number) => boolean;
}

/** The decision about the endpoints of a managed Service, and its policy. */
export interface DecidedEndpoints {
  readonly policy: ManagedPolicy;
  readonly decision: Decision;
}

/** Lists endpoints up to the limit, those that are kept first, and counts all that are kept. */
export function* explainEndpoints(
  objects: readonly ExplainedObject[],
  decided: DecidedEndpoints | undefined,
  outcome: OutcomeKind,
  limit: number,
): Steps<{
  readonly endpoints: EndpointExplanation[];
  readonly kept: number;
  readonly ready: number;
}> {
  const keep = yield* keptEndpoints(objects, decided, outcome);
  const { kept, ready } = yield* countKept(objects, keep);
  if (limit === 0) return { endpoints: [], kept, ready };
  const reasons =
    decided === undefined
      ? undefined
      : yield* endpointReasons(decided.decision, decided.policy.keys);
  const room = {
    kept: limit,
    left: limit - Math.min(kept, limit),
  };
  const lists = { kept: [] as EndpointExplanation[], left: [] as EndpointExplanation[] };
  let start = 0;
  for (const object of objects) {
    let index = 0;
    for (const { ports, endpoints } of object.groups) {
      for (const endpoint of endpoints) {
        const at = { object, ports, endpoint, outcome, index, all: start + index };
        const list = keep[at.all] === 1 ? 'kept' : 'left';
        if (lists[list].length < room[list]) lists[list].push(explainEndpoint(at, list, reasons));
        index++;
        if (index % STEP === 0) yield;
      }
    }
    start += index;
    yield;
  }
  return { endpoints: [...lists.kept, ...lists.left], kept, ready };
}

function* countKept(
  objects: readonly ExplainedObject[],
  keep: Uint8Array,
): Steps<{ readonly kept: number; readonly ready: number }> {
  let kept = 0;
  let ready = 0;
  let index = 0;
  for (const { endpoints } of groupsOf(objects)) {
    for (const { state } of endpoints) {
      if (keep[index] === 1) {
        kept++;
        if (state === 'ready') ready++;
      }
      index++;
      if (index % STEP === 0) yield;
    }
  }
  return { kept, ready };
}

function explainEndpoint(
  at: {
    readonly object: ExplainedObject;
    readonly ports: readonly string[];
    readonly endpoint: Endpoint;
    readonly outcome: OutcomeKind;
    /** Index in the object. */
    readonly index: number;
    /** Index among all endpoints. */
    readonly all: number;
  },
  list: 'kept' | 'left',
  reasons: ReasonOf | undefined,
): EndpointExplanation {
  const { object, endpoint, index } = at;
  const { node, zone, state } = endpoint;
  return {
    address: object.addresses[index] ?? '',
    node,
    zone,
    state,
    object: object.name,
    kept: list === 'kept',
    reason: reasons?.(at.ports, endpoint, at.all).reason ?? at.outcome,
  };
}

/** One entry for each endpoint: 1 is kept, 0 is left out. */
function* keptEndpoints(
  objects: readonly ExplainedObject[],
  decided: DecidedEndpoints | undefined,
  outcome: OutcomeKind,
): Steps<Uint8Array> {
  const none = new Uint8Array(countEndpoints(groupsOf(objects)));
  if (outcome === 'withheld') return none;
  if (decided !== undefined) return decided.decision.keep;
  if (outcome === 'unfiltered') return none.fill(1);
  if (outcome !== 'undecided') return none;
  let start = 0;
  for (const { groups, isShown } of objects) {
    const count = countEndpoints(groups);
    for (let index = 0; index < count; index++) if (isShown(index)) none[start + index] = 1;
    start += count;
    yield;
  }
  return none;
}

/** The groups of all objects. */
export function groupsOf(objects: readonly ExplainedObject[]): EndpointGroup[] {
  return objects.flatMap(({ groups }) => groups);
}
