import type { TopologyChange } from '../../topology/state/topology-change.ts';
import type { EndpointsFacts } from '../codec/codec.ts';
import type { Change } from '../codec/facts/change.ts';
import type { Cause } from './decision-journal.ts';

/** The cause of deciding Services again because their objects changed. */
export function causeOfObjects(changes: readonly Change<EndpointsFacts>[]): Cause {
  return { kind: 'endpoints', subject: some(changes[0]?.key, changes.length) };
}

/** The cause of deciding Services again because the topology changed. */
export function causeOfTopology({ nodes, ownNode }: TopologyChange): Cause {
  if (ownNode !== undefined) return { kind: 'own-node', subject: ownNode.join(', ') };
  if (nodes.size === 0) return { kind: 'policy', subject: '' };
  const [first] = nodes.keys();
  return { kind: 'nodes', subject: some(first, nodes.size) };
}

function some(first = '', count = 1): string {
  return count > 1 ? `${first} and ${count - 1} more` : first;
}
