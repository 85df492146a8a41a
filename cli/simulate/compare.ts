import { firstFew } from '../../src/util/first-few.ts';
import { formatTable, type TextStyle } from '../output/report.ts';
import { addressesOf, cellOf, isDryRun } from './matrix.ts';
import type { SimulatedOutcome, SimulatedService } from './simulated-service.ts';
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
  const nodes = [...new Set([...before.nodes, ...after.nodes])];
  const [left, right] = [lookupIn(before), lookupIn(after)];
  return [...names].sort().flatMap((service) => {
    const changes = nodes.flatMap((node) => {
      const [was, is] = [left(service, node), right(service, node)];
      return was.id === is.id ? [] : [{ node, was, is, id: `${was.id} ${is.id}` }];
    });
    return Array.from(Map.groupBy(changes, ({ id }) => id).values(), (group) => {
      const { was, is } = group[0] as (typeof changes)[number];
      return {
        service,
        nodes: group.map(({ node }) => node),
        before: was.text,
        after: is.text,
        added: is.addresses.filter((address) => !was.addresses.includes(address)),
        removed: was.addresses.filter((address) => !is.addresses.includes(address)),
      };
    });
  });
}

/** Formats differences for a terminal. */
export function formatDifferences(differences: readonly Difference[], style: TextStyle): string {
  if (differences.length === 0) return 'no node would see a difference\n';
  const header = ['SERVICE', 'NODES', 'BEFORE', 'AFTER', 'ENDPOINTS'];
  const lines = differences.map(({ service, nodes, before, after, added, removed }) => [
    service,
    firstFew(nodes),
    before,
    after,
    firstFew([...added.map((each) => `+${each}`), ...removed.map((each) => `-${each}`)], 8),
  ]);
  return formatTable([header, ...lines], style);
}

/** What a node sees of a Service. */
interface Seen {
  readonly id: string;
  readonly text: string;
  readonly addresses: readonly string[];
}

const ABSENT: Seen = { id: 'absent', text: 'absent', addresses: [] };

/** Returns a lookup of what a node sees of a Service. */
function lookupIn(simulation: Simulation): (service: string, node: string) => Seen {
  const nodes = new Map(simulation.nodes.map((name, index) => [name, index]));
  const services = new Map(
    simulation.services.map((each) => {
      const seen = each.answers.map((answer) => seenBy(each, answer));
      return [each.service, (node: number) => seen[each.byNode[node] ?? -1]];
    }),
  );
  return (service, node) => services.get(service)?.(nodes.get(node) ?? -1) ?? ABSENT;
}

function seenBy(service: SimulatedService, answer: SimulatedOutcome): Seen {
  // In a dry run the excluded endpoints are still shown.
  const addresses = isDryRun(service)
    ? service.endpoints.map(({ address }) => address)
    : addressesOf(service, answer);
  const text = cellOf(service, answer);
  return { id: `${text} ${addresses.sort().join()}`, text, addresses };
}
