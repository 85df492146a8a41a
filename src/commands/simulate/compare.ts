import { formatTable, type TextStyle } from '../output/report.ts';
import { some } from './findings.ts';
import { addressesOf, answerOn, cellOf, isDryRun } from './matrix.ts';
import type { SimulatedService } from './simulated-service.ts';
import type { Simulation } from './simulation.ts';

/** A change of a Service, with all nodes that see the same change. */
export interface Difference {
  readonly service: string;
  readonly nodes: readonly string[];
  /** The cell of the matrix; `absent` if the Service or node does not exist. */
  readonly before: string;
  readonly after: string;
  /** Addresses that are added to the view, and removed from it. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** The differences between two simulations. */
export function compare(before: Simulation, after: Simulation): Difference[] {
  const names = new Set([...before.services, ...after.services].map(({ service }) => service));
  const [left, right] = [lookupIn(before), lookupIn(after)];
  const nodes = [...new Set([...before.nodes, ...after.nodes])];
  return [...names].sort().flatMap((service) => {
    const differences = new Map<string, Difference & { nodes: string[] }>();
    for (const node of nodes) {
      const [was, is] = [left(service, node), right(service, node)];
      if (was === is || (was.text === is.text && was.ids === is.ids)) continue;
      const id = `${was.text} ${was.ids} ${is.text} ${is.ids}`;
      const known = differences.get(id);
      if (known !== undefined) {
        known.nodes.push(node);
        continue;
      }
      const added = is.addresses.filter((address) => !was.addresses.includes(address));
      const removed = was.addresses.filter((address) => !is.addresses.includes(address));
      differences.set(id, {
        service,
        nodes: [node],
        before: was.text,
        after: is.text,
        added,
        removed,
      });
    }
    return [...differences.values()];
  });
}

/** Formats differences for a terminal. */
export function formatDifferences(
  differences: readonly Difference[],
  style: TextStyle = { wide: false, headers: true },
): string {
  if (differences.length === 0) return 'no node would see a difference\n';
  const header = ['SERVICE', 'NODES', 'BEFORE', 'AFTER', 'ENDPOINTS'];
  const lines = differences.map(({ service, nodes, before, after, added, removed }) => [
    service,
    some(nodes),
    before,
    after,
    some([...added.map((each) => `+${each}`), ...removed.map((each) => `-${each}`)], 8),
  ]);
  return formatTable([header, ...lines], style);
}

interface Seen {
  readonly text: string;
  readonly ids: string;
  readonly addresses: readonly string[];
}

const ABSENT: Seen = { text: 'absent', ids: '', addresses: [] };

/** Returns a lookup of what a node sees of a Service. */
function lookupIn(simulation: Simulation): (service: string, node: string) => Seen {
  const services = new Map(simulation.services.map((each) => [each.service, describe(each)]));
  const nodes = new Map(simulation.nodes.map((name, index) => [name, index]));
  return (service, node) => {
    const index = nodes.get(node);
    return index === undefined ? ABSENT : (services.get(service)?.(index) ?? ABSENT);
  };
}

function describe(service: SimulatedService): (node: number) => Seen {
  const known = new Map<unknown, Seen>();
  return (node) => {
    const answer = answerOn(service, node);
    const seen = known.get(answer);
    if (seen !== undefined) return seen;
    // In a dry run the excluded endpoints are still shown.
    const addresses = isDryRun(service)
      ? service.endpoints.map(({ address }) => address).sort()
      : addressesOf(service, answer).sort();
    const made = { text: cellOf(service, answer), ids: addresses.join(), addresses };
    known.set(answer, made);
    return made;
  };
}
