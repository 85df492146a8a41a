import { expect, test } from '@jest/globals';
import { QueryState } from '../../../src/client/snapshot/query-state.ts';
import type { SnapshotFolder } from '../../../src/client/snapshot/snapshot-folder.ts';
import type { StoredState } from '../../../src/client/snapshot/snapshot-format.ts';
import { RememberedRelays } from '../../../src/node/relays/remembered-relays.ts';

const named = (name: string): string => JSON.stringify({ metadata: { name } });

test('what a slow disk has late does not replace what was selected since', async () => {
  const disk = Promise.withResolvers<StoredState>();
  const state = new QueryState('/relays', () => {});
  const folder = { writer: { open: () => state }, loadPatiently: () => disk.promise };
  const remembered = new RememberedRelays(
    folder as unknown as SnapshotFolder,
    'default/relay',
    'one',
    () => {},
  );
  remembered.update([{ host: '10.0.0.2', port: 10_364 }]);
  const objects = [Buffer.from(named('10.0.0.1:10364'))];
  disk.resolve({ resourceVersion: '1', savedAt: 0, objects });
  expect((await remembered.read).addresses).toEqual([]);
  expect(state.take().objects.map(String)).toEqual(['boot/one', '10.0.0.2:10364'].map(named));
});
