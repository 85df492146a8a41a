import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import type { SnapshotFolder } from '../../../src/client/snapshot/snapshot-folder.ts';
import { LastOwnNode } from '../../../src/node/own-watches/last-own-node.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { createSnapshots } from '../../support/snapshots.ts';
import { useState } from '../../support/wrapper/state-fixture.ts';

let state: ReturnType<typeof useState>;
let snapshots: SnapshotFolder;
let last: LastOwnNode;

/** Starts a process. The one before has ended or was killed. */
function start(): void {
  snapshots = closedLater(createSnapshots(state));
  last = new LastOwnNode(snapshots);
}

function update(uid: string, labels: Record<string, string>): void {
  const meta = { namespace: '', name: 'edge-1', uid, resourceVersion: '7', annotations: new Map() };
  last.update({ ...meta, labels: new Map(Object.entries(labels)) });
}

async function restart(): Promise<void> {
  last.close();
  await snapshots.close();
  start();
  await last.read;
}

const labels = () => last.labels && Object.fromEntries(last.labels);

beforeEach(async () => {
  state = useState();
  start();
  await last.read;
});

test('labels that somebody takes from a Node are not those of a last one', async () => {
  update('u-1', { site: 'a' });
  update('u-1', {});
  expect(labels()).toBeUndefined();
  await restart();
  update('u-1', {});
  expect(labels()).toBeUndefined();
  update('u-2', {});
  expect(labels()).toEqual({});
});

test('the last Node outlasts a process that is killed, and one that sees no Node', async () => {
  update('u-1', { site: 'b' });
  update('u-1', { site: 'a' });
  await eventually(() => snapshots.counters.writes > 0, true);
  start();
  await last.read;
  await restart();
  update('u-2', {});
  expect(labels()).toEqual({ site: 'a' });
});

test('a disk that is read after the Node was seen is compared with it', async () => {
  update('u-1', { site: 'a' });
  await snapshots.close();
  start();
  update('u-2', { rack: 'r' });
  expect(labels()).toBeUndefined();
  await last.read;
  expect(labels()).toEqual({ site: 'a' });
  // A restart forgets it.
  await restart();
  update('u-2', { rack: 'r' });
  expect(labels()).toBeUndefined();
  update('u-3', {});
  expect(labels()).toEqual({ rack: 'r' });
});

test('a file that cannot be read is set aside', async () => {
  update('u-1', { site: 'a' });
  await snapshots.close();
  const [name = ''] = await readdir(state.folder);
  const file = await readFile(join(state.folder, name));
  await writeFile(join(state.folder, name), file.subarray(0, file.length - 3));
  start();
  await last.read;
  update('u-2', {});
  expect([snapshots.counters.setAside.torn, labels()]).toEqual([1, undefined]);
});
