import { expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { CODECS } from '../../../src/client/api/codecs.ts';
import { ownNodeQuery } from '../../../src/client/api/kube-proxy-queries.ts';
import { TrackedObjects } from '../../../src/client/reflector/tracked-objects.ts';
import { WriteAhead } from '../../../src/client/snapshot/write-ahead.ts';
import type { Encoding } from '../../../src/filter/codec/codec.ts';
import { encodingOf } from '../../../src/filter/codec/encoded-object.ts';
import { NODES } from '../../../src/filter/objects/resource.ts';
import { Batches } from '../../../src/filter/projection/batch.ts';
import { ObjectsProjection } from '../../../src/filter/projection/objects-projection.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import { reencoding } from '../../../src/node/views/view-source.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { encodeObject } from '../../support/codec/encode-object.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { PLAIN_TOPOLOGY } from '../../support/topology/plain-topology.ts';

/** The view of the own Node, as openViewSource builds it with stateDir. `written` ends a write to the disk. */
function openNodeView() {
  const codec = CODECS.json;
  const versions = new VersionAllocator(1);
  const view = new View({ resource: NODES, codec, versions, window: { entries: 9, bytes: 1e6 } });
  const objects = new ObjectsProjection(view);
  const shown = new Batches(new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'n' })).addObjects(objects);
  const writes: (() => void)[] = [];
  const tracked = new TrackedObjects({
    query: { ...ownNodeQuery('n'), encoding: 'json' },
    decode: (object) => codec.ownNode(object),
    handler: new WriteAhead({
      write: () => new Promise((resolve) => void writes.push(resolve)),
      handler: reencoding(view, { ...shown, onSynced: () => shown.onSynced() }),
      logger: recordingLogger().logger,
    }),
    versions,
    readLimits: { maxListBytes: 1e6, maxObjectBytes: 1e6, maxObjects: 10 },
  });
  const written = async () => {
    writes.shift()?.();
    await jest.advanceTimersByTimeAsync(0);
  };
  return { view, tracked, written };
}

// kube-proxy that reads it would get a Node that is half JSON and half protobuf.
test('a view never holds an object in another encoding than its own, however long the disk takes', async () => {
  jest.useFakeTimers();
  const list = fc.record({
    encoding: fc.constantFrom<Encoding>('json', 'protobuf'),
    address: fc.constantFrom('192.0.2.1', '192.0.2.2'),
    isWritten: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(list, { minLength: 2, maxLength: 6 }), async (lists) => {
      const { view, tracked, written } = openNodeView();
      for (const [at, { encoding, address, isWritten }] of lists.entries()) {
        const resourceVersion = String(at + 1);
        const node = {
          metadata: { name: 'n', uid: 'u', resourceVersion },
          status: { addresses: [{ type: 'InternalIP', address }] },
        };
        tracked.replace([encodeObject(encoding, 'Node', node)], resourceVersion, encoding);
        if (isWritten) await written();
        const held = view.get('n');
        if (held !== undefined) expect(encodingOf(held)).toBe(view.codec.encoding);
      }
      for (const _ of lists) await written();
      const last = lists.at(-1)?.encoding;
      expect([view.codec.encoding, encodingOf(view.get('n') as Buffer)]).toEqual([last, last]);
    }),
    { numRuns: propertyRuns(300) },
  );
  jest.useRealTimers();
});
