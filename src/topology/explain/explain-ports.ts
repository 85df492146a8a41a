import {
  type DecideOptions,
  type Decision,
  decide,
  decidePort,
  optionsOf,
  type PortDecision,
} from '../decide/decide.ts';
import type { EndpointGroup } from '../decide/endpoint.ts';
import { type EndpointTally, tallyEndpoints, withoutKey } from '../decide/endpoint-tally.ts';
import { keyMaskBy, type MatchesEndpoint } from '../decide/key-mask.ts';
import { type HeldKey, lowestBit } from '../decide/return-delay.ts';
import type { Steps } from '../decide/steps.ts';
import type { ManagedPolicy } from '../policy/policy.ts';
import type { KeyCounts, PortExplanation } from './explanation.ts';

/** What decides and explains the ports of a Service. */
export interface PortsInput {
  readonly groups: readonly EndpointGroup[];
  readonly policy: ManagedPolicy;
  readonly matches: MatchesEndpoint;
  /** State of the return delay of `<family> <port>`; undefined: there is none. */
  readonly held: (port: string) => HeldKey | undefined;
  /** Converts a time of the return delay's clock to wall time. */
  readonly timeOf: (ms: number) => Date;
}

/** Repeats the current decision: reads the state of the return delay, and does not change it. */
export function decideAsHeld({ groups, policy, matches, held }: PortsInput): Decision {
  return decide(groups, keyMaskBy(policy.keys, matches), {
    ...optionsOf(policy, matches),
    prefer: asHeld(held),
  });
}

/** Chooses like ReturnDelay before any key has waited long enough, without changing its state. */
function asHeld(held: PortsInput['held']): NonNullable<DecideOptions['prefer']> {
  return (port, ready) => {
    const from = ready & -(1 << (held(port)?.key ?? 0));
    return lowestBit(from === 0 ? ready : from);
  };
}

/** A decision that is explained. */
export type ExplainedPorts = Omit<PortsInput, 'matches'> & { readonly decision: Decision };

/**
 * Explains the decision about each family and port. If there are more than `limit`, those with problems come first.
 * The time grows with the number of endpoints, plus the number of groups for each listed port.
 */
export function* explainPorts(input: ExplainedPorts, limit: number): Steps<PortExplanation[]> {
  const { groups, decision, policy } = input;
  const listed = worstFirst(decision.ports, limit).map((port) => ({
    ...port,
    held: copyOf(input.held(`${port.family} ${port.port}`)),
  }));
  if (listed.length === 0) return [];
  const tallies = yield* tallyEndpoints(groups, decision.masks, policy.keys.length);
  const explained: PortExplanation[] = [];
  for (const port of listed) {
    explained.push(explainPort(input, tallies, port));
    yield;
  }
  return explained;
}

/** The state of the return delay may change between steps. */
function copyOf(held: HeldKey | undefined): HeldKey | undefined {
  return held && { key: held.key, since: new Map(held.since) };
}

function worstFirst(ports: readonly PortDecision[], limit: number): readonly PortDecision[] {
  if (ports.length <= limit) return ports;
  const isBad = ({ stage }: PortDecision): boolean => stage !== 'ready';
  const bad = ports.filter(isBad);
  return [...bad, ...ports.filter((port) => !isBad(port))].slice(0, limit);
}

interface ListedPort extends PortDecision {
  readonly held: HeldKey | undefined;
}

function explainPort(
  input: ExplainedPorts,
  tallies: readonly EndpointTally[],
  decision: ListedPort,
): PortExplanation {
  const { policy } = input;
  const { family, port, held } = decision;
  const having = tallies.filter(
    ({ family: own, ports }) =>
      own === family && (ports.length === 0 ? port === '' : ports.includes(port)),
  );
  const keys = policy.keys.map((key, index) => countKey(policy, having, key, index));
  const winner = policy.keys[decision.key];
  const returning = nextReturn(input, held);
  const next = winner === undefined ? undefined : winnerWithout(input, having, decision);
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

function countKey(
  { minReady }: ManagedPolicy,
  having: readonly EndpointTally[],
  key: string,
  index: number,
): KeyCounts {
  const sum = (field: 'ready' | 'serving' | 'total') =>
    having.reduce((total, tally) => total + (tally[field][index] as number), 0);
  return {
    key,
    ready: sum('ready'),
    serving: sum('serving'),
    total: sum('total'),
    needs: minReady?.[index] ?? 1,
  };
}

/** The key that would win without the endpoints of the winner: the same decision, made without them. */
function winnerWithout(
  { policy, decision: { masks } }: ExplainedPorts,
  having: readonly EndpointTally[],
  { family, port, key: gone, held }: ListedPort,
): string | undefined {
  const { keys } = policy;
  const left = having.map((tally) => withoutKey(tally, masks, gone, keys.length));
  const prefer = asHeld(() => held);
  const { minReady } = policy;
  const options = minReady === undefined ? { prefer } : { prefer, minReady };
  return keys[decidePort(`${family} ${port}`, left, options).key];
}

function nextReturn(
  { policy, timeOf }: Pick<PortsInput, 'policy' | 'timeOf'>,
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
