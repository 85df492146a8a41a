import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { WrapperError } from '../../../src/errors.ts';
import { SERVICES } from '../../../src/filter/codec/resource.ts';
import { type Query, queryKey } from '../../../src/proxy/api/query.ts';
import { SnapshotFolder } from '../../../src/proxy/snapshot/snapshot-folder.ts';
import type { StoredState } from '../../../src/proxy/snapshot/snapshot-format.ts';
import { SnapshotRestore } from '../../../src/proxy/snapshot/snapshot-restore.ts';
import { ServerState } from '../../../src/proxy/upstream/server-state.ts';
import { eventually } from '../../support/eventually.ts';
import { FakeCredentials } from '../../support/http/credentials.ts';
import { stateFolder } from '../../support/wrapper/state-fixture.ts';
import { recordingLogger } from '../../support/wrapper/wrapper-fixture.ts';

const QUERY: Query = {
  resource: SERVICES,
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
  encoding: 'protobuf',
};
const unreachable = new WrapperError('Unreachable', 'no connection');

let state: Awaited<ReturnType<typeof stateFolder>>;
let snapshots: SnapshotFolder;
let restore: SnapshotRestore;
/** The last process has written its newest state. */
let flushed: PromiseWithResolvers<void>;
let isFlushing: boolean;
let restored: string[];

beforeEach(async () => {
  state = await stateFolder();
  flushed = Promise.withResolvers();
  [isFlushing, restored] = [false, []];
  const { logger } = recordingLogger();
  snapshots = new SnapshotFolder({
    folder: state.folder,
    nodeName: 'edge-1',
    credentials: new FakeCredentials(new URL('https://10.0.0.1:6443')),
    maxBytes: 1 << 20,
    writeBytesPerSecond: 1e12,
    quietMs: 1,
    graceMs: 10,
    logger,
    flushLastProcess: async () => {
      isFlushing = true;
      await flushed.promise;
    },
  });
  const writer = snapshots.open(queryKey(QUERY));
  writer.update([], '7');
  await eventually(() => writer.isOnDisk, true);
  await snapshots.closeWriter(writer);
  restore = new SnapshotRestore({
    folder: snapshots,
    query: QUERY,
    metadataOnly: false,
    upstream: { serverState: new ServerState({ logger }), search: async () => false },
    logger,
    restore: ({ resourceVersion }: StoredState) => {
      restored.push(resourceVersion);
      return [];
    },
  });
  expect(await restore.load()).toBe('7');
  restore.listStarted();
  restore.failed(unreachable);
  await eventually(() => isFlushing, true);
});

afterEach(async () => {
  await restore.close();
  await snapshots.close();
  await state.remove();
});

test('the snapshot is used once the last process has written its newest state', async () => {
  expect(restored).toEqual([]);
  flushed.resolve();
  await eventually(() => restored, ['7']);
});

test('the snapshot is not used if a list arrives while the last process still writes', async () => {
  restore.listed();
  flushed.resolve();
  await snapshots.loadNewest(queryKey(QUERY));
  await new Promise(setImmediate);
  expect(restored).toEqual([]);
});
