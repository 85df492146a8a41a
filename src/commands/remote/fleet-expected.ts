import { addressesOf, answerOn } from '../simulate/matrix.ts';
import type { Simulation } from '../simulate/simulation.ts';

/** What a node sees of a Service, or should see. */
export interface Sight {
  readonly outcome: string;
  /** Keys that won, sorted. */
  readonly winners: readonly string[];
  readonly shown: number;
  readonly total: number;
  /** Sorted; undefined: only counted. */
  readonly addresses?: readonly string[];
}

/** What simulate expects. */
export interface Expected {
  readonly nodes: readonly string[];
  readonly services: ReadonlySet<string>;
  /** Undefined: the node or Service does not exist. */
  sightOf(node: string, service: string): Sight | undefined;
}

export function expectedOf({ nodes, services }: Simulation): Expected {
  const byName = new Map(services.map((each) => [each.service, each]));
  const indices = new Map(nodes.map((name, index) => [name, index]));
  return {
    nodes,
    services: new Set(byName.keys()),
    sightOf(node, name) {
      const service = byName.get(name);
      const index = indices.get(node);
      if (service === undefined || index === undefined) return undefined;
      const answer = answerOn(service, index);
      return {
        outcome: answer.outcome,
        winners: answer.winners.toSorted(),
        shown: answer.shown.length,
        total: service.endpoints.length,
        addresses: addressesOf(service, answer).sort(),
      };
    },
  };
}
