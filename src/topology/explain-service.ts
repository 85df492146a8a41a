import { countEndpoints, type Decision } from './decide.ts';
import type { EndpointGroup } from './endpoint.ts';
import { explainEndpoints } from './explain.ts';
import { explainKey } from './explain-keys.ts';
import { explainOutcome, explainPolicy } from './explain-outcome.ts';
import { decideAsHeld, explainPorts, type PortsInput } from './explain-ports.ts';
import { warningsOf } from './explain-warnings.ts';
import type {
  EndpointExplanation,
  OutcomeKind,
  PolicyOrigin,
  ServiceExplanation,
} from './explanation.ts';
import type { ManagedPolicy, Policy } from './policy.ts';
import type { World } from './world.ts';

/** An EndpointSlice or Endpoints object of the Service. */
export interface ExplainedObject {
  readonly name: string;
  readonly hinted: boolean;
  readonly groups: readonly EndpointGroup[];
  /** First address of each endpoint, in the order of the groups, flattened. */
  readonly addresses: readonly string[];
  /** Whether an endpoint, in the same order, is shown at the moment: that stands as long as nothing is decided. */
  readonly isShown: (index: number) => boolean;
}

export interface ExplainInput {
  readonly world: World;
  /** `namespace/name`. */
  readonly service: string;
  readonly objects: readonly ExplainedObject[];
  /** See policyOrigins(). */
  readonly origins: readonly PolicyOrigin[];
  readonly held: PortsInput['held'];
  readonly timeOf: PortsInput['timeOf'];
  /** When the present answer came into force. */
  readonly since: Date | undefined;
}

/** Explains a Service. Pure: decides once more, as it was decided, and changes nothing. */
export function explainService(input: ExplainInput): ServiceExplanation {
  const { world, service, objects, origins, since } = input;
  const inForce = world.policyInForce(service);
  const policy = inForce ?? world.policies.wanted(service);
  const decided = inForce?.managed === true ? decideFor(input, inForce) : undefined;
  const withheld = decided !== undefined && world.withholds(decided.policy, decided.decision);
  const policyText = explainPolicy(policy, origins);
  const outcome = explainOutcome(world, service, inForce, withheld);
  const ports = decided === undefined ? [] : explainPorts(decided, decided.decision);
  const endpoints = endpointsOf(input, decided, outcome.kind);
  const kept = endpoints.filter((endpoint) => endpoint.kept).length;
  const counts = { total: endpoints.length, kept, leftOut: endpoints.length - kept };
  return {
    service,
    node: world.nodeName,
    policy: policyText,
    outcome,
    ...(since === undefined ? {} : { since: since.toISOString() }),
    keys: (policyText.keys ?? []).map((key) => explainKey(world, key)),
    ports,
    endpoints,
    counts,
    warnings: warningsOf({
      world,
      service,
      policy: policyText,
      inForce,
      outcome,
      ports,
      endpoints: groupsOf(objects).flatMap((group) => group.endpoints),
      hinted: objects.some(({ hinted }) => hinted),
    }),
  };
}

interface Decided extends PortsInput {
  readonly policy: ManagedPolicy;
  readonly decision: Decision;
}

function decideFor(input: ExplainInput, policy: Extract<Policy, { managed: true }>): Decided {
  const { world, objects, held, timeOf } = input;
  const ports = { groups: groupsOf(objects), policy, relates: world.relates, held, timeOf };
  return { ...ports, decision: decideAsHeld(ports) };
}

function groupsOf(objects: readonly ExplainedObject[]): EndpointGroup[] {
  return objects.flatMap(({ groups }) => groups);
}

function endpointsOf(
  { objects }: ExplainInput,
  decided: Decided | undefined,
  outcome: OutcomeKind,
): EndpointExplanation[] {
  const reasons =
    decided === undefined
      ? undefined
      : explainEndpoints(decided.groups, decided.decision, decided.policy.keys, decided.relates);
  let offset = 0;
  return objects.flatMap((object) => {
    const start = offset;
    offset += countEndpoints(object.groups);
    return object.groups
      .flatMap(({ endpoints }) => endpoints)
      .map(({ node, zone, state }, index) => {
        const address = object.addresses[index] ?? '';
        const at = { address, node, zone, state, object: object.name };
        const said = reasons?.[start + index];
        return {
          ...at,
          kept: outcome !== 'withheld' && (said?.kept ?? keptUndecided(outcome, object, index)),
          reason: said?.reason ?? outcome,
        };
      });
  });
}

/** What becomes of an endpoint about which no policy decides. */
function keptUndecided(outcome: OutcomeKind, object: ExplainedObject, index: number): boolean {
  return outcome === 'unfiltered' || (outcome === 'undecided' && object.isShown(index));
}
