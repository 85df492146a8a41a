import type { PortDecision } from '../../src/topology/decide/decide.ts';
import type { Endpoint, EndpointGroup } from '../../src/topology/decide/endpoint.ts';
import { NODE_SET_LIMIT, type Policy } from '../../src/topology/policy/policy.ts';
import {
  kindOf,
  mismatchedPorts,
  outcomeOf,
  type ServiceOutcome,
  winnersOf,
} from '../../src/topology/state/service-outcome.ts';
import type { Topology } from '../../src/topology/state/topology.ts';
import type { SimulatedSlice } from './cluster-objects.ts';

/** What a group of nodes sees of a Service. */
export interface SimulatedOutcome extends ServiceOutcome {
  /** Indices of the shown endpoints. */
  readonly shown: readonly number[];
  /** {@link SimulatedService.ports} for which the policy leaves no usable endpoint. */
  readonly lost: readonly string[];
}

export interface SimulatedEndpoint extends Endpoint {
  readonly address: string;
}

export interface RowOptions {
  /** Number of nodes. */
  readonly nodes: number;
  /** The ports that count; undefined: those of the slices. */
  readonly ports: readonly string[] | undefined;
  /** Returns one object for equal groups. */
  readonly intern: (group: EndpointGroup) => EndpointGroup;
}

/** A row of the matrix: what the nodes see of one Service. */
export class SimulatedService {
  readonly service: string;
  readonly policy: Policy;
  readonly endpoints: readonly SimulatedEndpoint[];
  /** Whether endpoints have topology hints, by which kube-proxy itself chooses if no policy applies. */
  readonly hinted: boolean;
  /** `<family> <protocol>/<name>` of each address family and port that counts and has a usable endpoint. */
  readonly ports: readonly string[];
  /** Ports of the Service that no endpoint has, while endpoints have only others. */
  mismatched: readonly string[] = [];
  /** Distinct answers. `byNode` has an index into this list for each node. */
  readonly answers: SimulatedOutcome[] = [];
  readonly byNode: Uint32Array;
  readonly #groups: readonly EndpointGroup[];
  readonly #usable: ReadonlyMap<string, readonly number[]>;
  /** Indices of answers. */
  readonly #known = new Map<string, number>();

  constructor(
    service: string,
    policy: Policy,
    slices: readonly SimulatedSlice[],
    { nodes, ports, intern }: RowOptions,
  ) {
    this.service = service;
    this.policy = policy;
    this.byNode = new Uint32Array(nodes);
    this.#groups = slices.flatMap(({ groups }) => groups.map(intern));
    this.endpoints = slices.flatMap(({ groups, addresses }) =>
      groups
        .flatMap(({ endpoints }) => endpoints)
        .map((endpoint, index) => ({ ...endpoint, address: addresses[index] ?? '' })),
    );
    this.hinted = slices.some(({ hinted }) => hinted);
    this.#usable = usableByPort(this.#groups, ports);
    this.ports = [...this.#usable.keys()];
  }

  /** Decides for the node with this index. */
  decideOn(node: number, topology: Topology): void {
    const policy = topology.activePolicy(this.service);
    const addressOf = (index: number) => this.endpoints[index]?.address ?? '';
    const decision =
      policy?.managed === true
        ? topology.decide(this.service, this.#groups, policy, addressOf)
        : undefined;
    const withheld =
      policy?.managed === true && decision !== undefined && topology.isWithheld(policy, decision);
    const input = { policy, pendingOrActive: this.policy, withheld };
    const winners = policy?.managed === true ? winnersOf(policy.keys, decision) : [];
    const keep = decision && Buffer.from(decision.keep.buffer).toString('latin1');
    const noRoom = policy === NODE_SET_LIMIT;
    const id = `${kindOf(input).kind} ${noRoom} ${winners.join()} ${keep}`;
    let known = this.#known.get(id);
    if (known === undefined) {
      const outcome = outcomeOf(this.service, input, this.#groups, decision);
      if (decision !== undefined) this.mismatched = mismatchedPorts(decision).map(portText);
      known = this.answers.push(this.#answer(outcome, decision?.keep)) - 1;
      this.#known.set(id, known);
    }
    this.byNode[node] = known;
  }

  #answer(outcome: ServiceOutcome, keep: Uint8Array | undefined): SimulatedOutcome {
    const { kind } = outcome;
    const isKept = (index: number) => keep === undefined || keep[index] === 1;
    const all = kind === 'hidden' || kind === 'withheld' ? [] : [...this.endpoints.keys()];
    const isLost = (port: string) => this.#usable.get(port)?.some(isKept) === false;
    return {
      ...outcome,
      shown: all.filter(isKept),
      lost: kind === 'filtered' ? this.ports.filter(isLost) : [],
    };
  }
}

function portText({ family, port }: PortDecision): string {
  return `${family} ${port}`;
}

/** Indices of the endpoints that are ready or serving, by address family and port that counts. */
function usableByPort(
  groups: readonly EndpointGroup[],
  counted: RowOptions['ports'],
): Map<string, number[]> {
  const usable = new Map<string, number[]>();
  const isCounted = counted && new Set(counted);
  let index = 0;
  for (const { ports, endpoints } of groups) {
    const own = ports.length === 0 ? ['without port'] : ports;
    const names = own.filter((port) => isCounted?.has(port) !== false);
    for (const { family, state } of endpoints) {
      for (const name of state === 'notReady' ? [] : names) {
        const port = `${family} ${name}`;
        const indices = usable.get(port);
        if (indices === undefined) usable.set(port, [index]);
        else indices.push(index);
      }
      index++;
    }
  }
  return usable;
}
