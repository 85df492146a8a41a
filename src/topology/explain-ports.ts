import { type DecideOptions, type Decision, decide, matchesBy, type Relates } from './decide.ts';
import type { EndpointGroup } from './endpoint.ts';
import type { KeyCounts, PortExplanation } from './explanation.ts';
import type { ManagedPolicy } from './policy.ts';
import { type HeldKey, lowestBit } from './return-delay.ts';

/** What the decisions about all ports of a Service are taken from, and explained by. */
export interface PortsInput {
  readonly groups: readonly EndpointGroup[];
  readonly policy: ManagedPolicy;
  readonly relates: Relates;
  /** What a return delay holds of `<family> <port>`; undefined: nothing. */
  readonly held: (port: string) => HeldKey | undefined;
  /** Time of the clock by which the delay counts, in wall time. */
  readonly timeOf: (ms: number) => Date;
}

/** The decision as it stands, taken again: what a return delay holds is looked at, and stays as it is. */
export function decideAsHeld({ groups, policy, relates, held }: PortsInput): Decision {
  return decide(groups, matchesBy(policy.keys, relates), {
    ...needs(policy),
    prefer: asHeld(held),
  });
}

/** Chooses as {@link ReturnDelay} would before anything that waits is due, and remembers nothing. */
function asHeld(held: PortsInput['held']): NonNullable<DecideOptions['prefer']> {
  return (port, ready) => {
    const from = ready & -(1 << (held(port)?.key ?? 0));
    return lowestBit(from === 0 ? ready : from);
  };
}

/** Explains what was decided about each family and port. */
export function explainPorts(input: PortsInput, decision: Decision): PortExplanation[] {
  return decision.ports.map((port) => explainPort(input, port));
}

type PortDecision = Decision['ports'][number];

function explainPort(input: PortsInput, decision: PortDecision): PortExplanation {
  const { policy, held } = input;
  const { family, port } = decision;
  const groups = groupsOf(input.groups, family, port);
  const keys = policy.keys.map((key, index) => countKey(input, groups, key, index));
  const winner = policy.keys[decision.key];
  const returning = nextReturn(input, held(`${family} ${port}`));
  const next = winner === undefined ? undefined : winnerWithout(input, groups, winner);
  return {
    family,
    port,
    keys,
    ...(winner === undefined ? {} : { winner }),
    why: whyOf(keys, decision),
    ...(returning === undefined ? {} : { returning }),
    ...(next === undefined ? {} : { next }),
  };
}

/** Groups reduced to the endpoints of one family and port. */
function groupsOf(
  groups: readonly EndpointGroup[],
  family: string,
  port: string,
): readonly EndpointGroup[] {
  return groups
    .filter(({ ports }) => (ports.length === 0 ? port === '' : ports.includes(port)))
    .map(({ endpoints }) => ({
      ports: [port],
      endpoints: endpoints.filter((endpoint) => endpoint.family === family),
    }));
}

function countKey(
  { relates, policy }: PortsInput,
  groups: readonly EndpointGroup[],
  key: string,
  index: number,
): KeyCounts {
  const endpoints = groups.flatMap((group) => group.endpoints.filter((each) => relates(key, each)));
  const count = (state: string) => endpoints.filter((each) => each.state === state).length;
  return {
    key,
    ready: count('ready'),
    serving: count('serving'),
    total: endpoints.length,
    needs: policy.minReady?.[index] ?? 1,
  };
}

/** The key that would win if all endpoints of a key were gone: the same decision, taken without them. */
function winnerWithout(
  { policy, relates, held }: PortsInput,
  groups: readonly EndpointGroup[],
  gone: string,
): string | undefined {
  const left = groups.map(({ ports, endpoints }) => ({
    ports,
    endpoints: endpoints.filter((endpoint) => !relates(gone, endpoint)),
  }));
  const options = { ...needs(policy), prefer: asHeld(held) };
  const { ports } = decide(left, matchesBy(policy.keys, relates), options);
  return policy.keys[ports[0]?.key ?? -1];
}

function nextReturn(
  { policy, timeOf }: PortsInput,
  held: HeldKey | undefined,
): PortExplanation['returning'] {
  const [first] = [...(held?.since ?? [])].sort(([a], [b]) => a - b);
  if (first === undefined) return undefined;
  const [index, since] = first;
  const at = timeOf(since + (policy.returnDelayMs ?? 0)).toISOString();
  return { key: policy.keys[index] ?? '', at };
}

function whyOf(keys: readonly KeyCounts[], { key, stage }: PortDecision): string {
  const winner = keys[key];
  if (winner === undefined) {
    const matching = keys.some(({ total }) => total > 0);
    return matching
      ? 'no endpoint that a key matches is ready or serving; all that match are shown'
      : 'no key matches any endpoint';
  }
  if (stage === 'serving') {
    return 'no key has a ready endpoint; this is the first with a serving (terminating) one';
  }
  const nearer = keys.slice(0, key);
  if (winner.ready < winner.needs) {
    const none = 'no key has as many ready endpoints as it needs';
    const held = nearer.find(({ ready }) => ready > 0);
    return held === undefined
      ? `${none}; this is the first with any`
      : `${none}; ${tooEarly(held)}`;
  }
  if (nearer.length === 0) return `first key, ${winner.ready} ready`;
  const waiting = nearer.find(({ ready, needs: least }) => ready >= least);
  if (waiting !== undefined) return tooEarly(waiting);
  const few = nearer.filter(({ ready }) => ready > 0);
  if (few.length > 0) return `${few.map(tooFew).join(', ')}; ${winner.ready} ready here`;
  return `no nearer key has a ready endpoint, ${winner.ready} ready here`;
}

function tooEarly({ key }: KeyCounts): string {
  return `${key} is ready again, but not for long enough yet`;
}

function tooFew({ key, ready, needs: least }: KeyCounts): string {
  return `${key} has ${ready} of ${least} ready endpoints that it needs`;
}

function needs({ minReady }: ManagedPolicy): Pick<DecideOptions, 'minReady'> {
  return minReady === undefined ? {} : { minReady };
}
