import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import type { SnapshotFolder } from '../../../src/client/snapshot/snapshot-folder.ts';
import { RememberedNodes } from '../../../src/node/own-watches/remembered-nodes.ts';
import { closedLater } from '../../support/closed-later.ts';
import { createSnapshots } from '../../support/snapshots.ts';
import { useState } from '../../support/wrapper/state-fixture.ts';

let state: ReturnType<typeof useState>;
let snapshots: SnapshotFolder;
let nodes: RememberedNodes;

/** Ends the process, if there is one, and starts the next one. */
async function restart(): Promise<void> {
  nodes?.close();
  await snapshots?.close();
  snapshots = closedLater(createSnapshots(state));
  nodes = new RememberedNodes(snapshots, () => {});
}

beforeEach(async () => {
  state = useState();
  await restart();
  await nodes.read();
});

const update = (found: Record<string, string>, names = Object.keys(found)) =>
  nodes.update(names, new Map(Object.entries(found)), '7');

test('what was found last outlasts the process, and Nodes that are gone do not', async () => {
  update({ a: 'z1', b: '', c: 'z3' });
  update({ a: 'z2' }, ['a', 'c', 'never-there']);
  await restart();
  await nodes.read();
  expect(Object.fromEntries(nodes.zones)).toEqual({ a: 'z2', b: '' });
  update({ d: 'z4' });
  await restart();
  await nodes.read();
  expect(Object.fromEntries(nodes.zones)).toEqual({ a: 'z2', b: '', d: 'z4' });
});

test('what is on disk changes nothing that the API server has said', async () => {
  update({ a: 'z1' });
  await restart();
  await nodes.read();
  update({ a: 'z2' });
  await nodes.read();
  expect(nodes.zones.get('a')).toBe('z2');
});

test('the Nodes that were found first are forgotten when there are too many', async () => {
  const many = Array.from({ length: 4100 }, (_, n) => [`node-${n}`, 'z2'] as const);
  update(Object.fromEntries(many.slice(0, 100)));
  update(Object.fromEntries(many));
  expect([nodes.zones.size, nodes.zones.has('node-3'), nodes.zones.has('node-4')]).toEqual([
    4096,
    false,
    true,
  ]);
  await restart();
  await nodes.read();
  expect(nodes.zones.size).toBe(4096);
});

test('a file that cannot be read is set aside', async () => {
  update({ a: 'z1' });
  await snapshots.close();
  const [name = ''] = await readdir(state.folder);
  const file = await readFile(join(state.folder, name));
  await writeFile(join(state.folder, name), file.subarray(0, file.length - 3));
  await restart();
  await nodes.read();
  expect(nodes.zones.size).toBe(0);
  expect(await readdir(state.folder)).toEqual(['set-aside.torn']);
});

// It overwrote what the API server had said since, or was never used.
test.each([false, true])(
  'a slow disk counts until the API server has answered: %s',
  async (isLive) => {
    update({ a: 'z1', b: 'z1' });
    await restart();
    const busy = Promise.withResolvers<void>();
    void snapshots.writer.inTurn(() => busy.promise);
    const read = nodes.read();
    if (isLive) update({ a: 'z2' });
    busy.resolve();
    await read;
    const expected = isLive ? { a: 'z2' } : { a: 'z1', b: 'z1' };
    expect(Object.fromEntries(nodes.zones)).toEqual(expected);
    await restart();
    await nodes.read();
    expect(Object.fromEntries(nodes.zones)).toEqual(expected);
  },
);
