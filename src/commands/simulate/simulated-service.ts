import type { Endpoint, EndpointGroup } from '../../topology/decide/endpoint.ts';
import type { Policy } from '../../topology/policy/policy.ts';
import {
  kindOf,
  outcomeOf,
  type ServiceOutcome,
  winnersOf,
} from '../../topology/state/service-outcome.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { SimulatedSlice } from './cluster-objects.ts';

/** What a group of nodes sees of a Service. */
export interface Answer extends ServiceOutcome {
  /** Indices of the shown endpoints. */
  readonly shown: readonly number[];
  /** {@link SimulatedService.ports} for which the policy leaves no usable endpoint. */
  readonly lost: readonly string[];
}

export interface SimulatedEndpoint extends Endpoint {
  readonly address: string;
}

/** A row of the matrix. */
export interface SimulatedService {
  readonly service: string;
  readonly policy: Policy;
  readonly endpoints: readonly SimulatedEndpoint[];
  /** Whether endpoints have topology hints, by which kube-proxy itself chooses if no policy applies. */
  readonly hinted: boolean;
  /** `<family> <protocol>/<name>` of each address family and port with a usable endpoint. */
  readonly ports: readonly string[];
  /** Distinct answers. `byNode` has an index into this list for each node. */
  readonly answers: readonly Answer[];
  readonly byNode: Uint32Array;
}

/** Collects the answers about one Service, node by node. */
export class SimulatedRow {
  readonly service: string;
  readonly policy: Policy;
  readonly #groups: readonly EndpointGroup[];
  readonly #endpoints: readonly SimulatedEndpoint[];
  readonly #hinted: boolean;
  readonly #usable: ReadonlyMap<string, readonly number[]>;
  readonly #answers = new Map<string, { readonly index: number; readonly answer: Answer }>();
  readonly #byNode: number[] = [];

  constructor(
    service: string,
    policy: Policy,
    slices: readonly SimulatedSlice[],
    intern: (group: EndpointGroup) => EndpointGroup,
  ) {
    this.service = service;
    this.policy = policy;
    this.#groups = slices.flatMap(({ groups }) => groups.map(intern));
    this.#endpoints = slices.flatMap(({ groups, addresses }) =>
      groups
        .flatMap(({ endpoints }) => endpoints)
        .map((endpoint, index) => ({ ...endpoint, address: addresses[index] ?? '' })),
    );
    this.#hinted = slices.some(({ hinted }) => hinted);
    this.#usable = usableByPort(this.#groups);
  }

  add(node: number, topology: Topology): void {
    const policy = topology.policyInForce(this.service);
    const decision = policy?.managed === true ? topology.decide(this.#groups, policy) : undefined;
    const cloudOnly =
      policy?.managed === true && decision !== undefined && topology.isCloudOnly(policy, decision);
    const input = { policy, wanted: this.policy, cloudOnly };
    const winners = policy?.managed === true ? winnersOf(policy.keys, decision) : [];
    const keep = decision && Buffer.from(decision.keep.buffer).toString('latin1');
    const id = `${kindOf(input).kind} ${winners.join()} ${keep}`;
    let known = this.#answers.get(id);
    if (known === undefined) {
      const outcome = outcomeOf(this.service, input, this.#groups, decision);
      const shown = this.#shown(outcome, decision?.keep);
      const lost = outcome.kind === 'filtered' ? this.#lost(decision?.keep) : [];
      known = { index: this.#answers.size, answer: { ...outcome, shown, lost } };
      this.#answers.set(id, known);
    }
    this.#byNode[node] = known.index;
  }

  finish(): SimulatedService {
    return {
      service: this.service,
      policy: this.policy,
      endpoints: this.#endpoints,
      hinted: this.#hinted,
      ports: [...this.#usable.keys()],
      answers: Array.from(this.#answers.values(), ({ answer }) => answer),
      byNode: Uint32Array.from(this.#byNode),
    };
  }

  #shown({ kind }: ServiceOutcome, keep: Uint8Array | undefined): number[] {
    if (kind === 'hidden' || kind === 'withheld') return [];
    const all = [...this.#endpoints.keys()];
    return keep === undefined ? all : all.filter((index) => keep[index] === 1);
  }

  #lost(keep: Uint8Array | undefined): string[] {
    const ports = [...this.#usable];
    return ports.flatMap(([port, indices]) =>
      indices.some((index) => keep?.[index] === 1) ? [] : [port],
    );
  }
}

/** Indices of the endpoints that are ready or serving, by address family and port. */
function usableByPort(groups: readonly EndpointGroup[]): Map<string, number[]> {
  const usable = new Map<string, number[]>();
  let index = 0;
  for (const { ports, endpoints } of groups) {
    const names = ports.length === 0 ? ['without port'] : ports;
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
