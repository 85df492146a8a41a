import type { Decision, PortDecision } from '../../src/topology/decide/decide.ts';
import {
  type Endpoint,
  type EndpointGroup,
  portId,
  portLabel,
} from '../../src/topology/decide/endpoint.ts';
import { classesByPort } from '../../src/topology/decide/endpoint-classes.ts';
import type { Policy } from '../../src/topology/policy/policy.ts';
import { type DecidedService, decideService } from '../../src/topology/state/decide-service.ts';
import { mismatchedPorts, type ServiceOutcome } from '../../src/topology/state/service-outcome.ts';
import type { Topology } from '../../src/topology/state/topology.ts';
import type { SimulatedSlice } from './cluster-objects.ts';
import type { SliceProblem } from './slice-problems.ts';

/** What a group of nodes sees of a Service. */
export interface SimulatedOutcome extends ServiceOutcome {
  /** Indices of the shown endpoints. */
  readonly shown: readonly number[];
  /** The label of each port that has usable endpoints, of which the policy leaves none. */
  readonly lost: readonly string[];
  /** Whether these are all ports that have usable endpoints. */
  readonly isAllLost: boolean;
}

export interface SimulatedEndpoint extends Omit<Endpoint, 'terminating'> {
  readonly address: string;
}

/** A row of the matrix: what the nodes see of one Service. */
export class SimulatedService {
  readonly service: string;
  readonly policy: Policy;
  readonly endpoints: readonly SimulatedEndpoint[];
  /** Whether endpoints have topology hints, by which kube-proxy itself chooses if no policy applies. */
  readonly hinted: boolean;
  /** Ports of the Service that no endpoint has, while endpoints have only others. */
  mismatched: readonly PortDecision[] = [];
  /** The ports among them that a slice has without a number. */
  readonly unnumbered: ReadonlySet<string>;
  readonly sliceProblems: readonly SliceProblem[];
  /** Distinct answers. `byNode` has an index into this list for each node. */
  readonly answers: SimulatedOutcome[] = [];
  readonly byNode: Uint32Array;
  readonly #groups: readonly EndpointGroup[];
  /** Indices of answers. */
  readonly #known = new Map<string, number>();

  /**
   * @param slices those that kube-proxy reads
   * @param nodes number of nodes
   */
  constructor(
    service: string,
    policy: Policy,
    slices: readonly SimulatedSlice[],
    sliceProblems: readonly SliceProblem[],
    nodes: number,
  ) {
    this.service = service;
    this.policy = policy;
    this.byNode = new Uint32Array(nodes);
    this.sliceProblems = sliceProblems;
    this.unnumbered = new Set(slices.flatMap((slice) => slice.unnumbered));
    this.#groups = slices.flatMap(({ groups }) => groups);
    this.endpoints = slices.flatMap(({ groups, addresses }) =>
      groups
        .flatMap(({ endpoints }) => endpoints)
        .map(({ terminating: _, ...endpoint }, index) => ({
          ...endpoint,
          address: addresses[index] ?? '',
        })),
    );
    this.hinted = slices.some(({ hinted }) => hinted);
  }

  /** Decides for the node with this index. */
  decideOn(node: number, topology: Topology): void {
    const decided = decideService(topology, this.service, this.#groups);
    const { outcome, decision } = decided;
    const keep = decision && Buffer.from(decision.keep.buffer).toString('latin1');
    const limit = outcome.kind === 'unfiltered' ? outcome.problem : undefined;
    const id = `${outcome.kind} ${limit} ${outcome.winners.join()} ${keep}`;
    let known = this.#known.get(id);
    if (known === undefined) {
      if (decision !== undefined) this.mismatched = mismatchedPorts(decision);
      known = this.answers.push(this.#answer(decided)) - 1;
      this.#known.set(id, known);
    }
    this.byNode[node] = known;
  }

  #answer({ outcome, decision }: DecidedService): SimulatedOutcome {
    const { kind } = outcome;
    const all = kind === 'hidden' || kind === 'withheld' ? [] : [...this.endpoints.keys()];
    const shown = all.filter((index) => decision === undefined || decision.keep[index] === 1);
    const isFiltered = kind === 'filtered' && decision !== undefined;
    const lost = isFiltered ? lostPorts(decision) : { lost: [], isAllLost: false };
    return { ...outcome, shown, ...lost };
  }
}

/** The ports that have usable endpoints, of which none is kept. */
function lostPorts({ ports, classes }: Decision): Pick<SimulatedOutcome, 'lost' | 'isAllLost'> {
  const byPort = classesByPort(classes);
  const having = (port: PortDecision) => byPort.get(portId(port))?.having ?? [];
  const usable = ports.filter((port) => having(port).some((each) => each.usable));
  const lost = usable.filter((port) => !having(port).some(({ keptUsable }) => keptUsable));
  return { lost: lost.map(portLabel), isAllLost: lost.length > 0 && lost.length === usable.length };
}
