import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import { ENDPOINT_SLICES } from '../../../src/filter/objects/resource.ts';
import { Batches } from '../../../src/filter/projection/batch.ts';
import { EndpointsProjection } from '../../../src/filter/projection/endpoints-projection.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import type { FoundNodes, NodeFinder } from '../../../src/topology/state/node-lookups.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { ManualClock } from '../clocks.ts';
import { PLAIN_TOPOLOGY } from '../topology/plain-topology.ts';

/**
 * An empty topology of the node `own`, and the view of endpoints that depends on it, in protobuf. What the API server
 * sends goes to the handler.
 *
 * @param startedAt when the process started, in milliseconds
 */
export function startSliceProjection({ resource = ENDPOINT_SLICES, startedAt = 0 } = {}) {
  let answer: (found: FoundNodes) => void = () => undefined;
  const lookupClock = new ManualClock();
  const nodeFinder: NodeFinder = {
    ...PLAIN_TOPOLOGY.nodeFinder,
    clock: lookupClock,
    find: (_, done) => {
      answer = done;
    },
  };
  const topology = new Topology({ ...PLAIN_TOPOLOGY, nodeFinder, nodeName: 'own' });
  const clock = new ManualClock();
  const codec = new ProtobufCodec();
  const window = { entries: 10_000, bytes: 1 << 24 };
  const versions = new VersionAllocator(startedAt);
  const view = new View({ resource, codec, versions, window });
  const projection = new EndpointsProjection({
    view,
    topology,
    clock,
    reportsWithheld: true,
  });
  const handler = new Batches(topology).addEndpoints(projection);
  const found = (nodes: FoundNodes): void => {
    lookupClock.pass(0);
    answer(nodes);
  };
  return { topology, view, clock, projection, handler, versions, found };
}
