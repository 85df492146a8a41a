import { afterEach, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import type { QueryState } from '../../../src/client/snapshot/query-state.ts';
import type { SnapshotFolder } from '../../../src/client/snapshot/snapshot-folder.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { createSnapshots, webAt } from '../../support/snapshots.ts';
import { useFastFolder } from '../../support/use-folder.ts';

/*
 * Files were told apart by the time of day. When the clock was set back by seconds, a process took its own older file
 * for a newer one. It dropped what the API server had reported since, and said that it was on disk.
 */

afterEach(() => void jest.restoreAllMocks());

/** A node with two processes that share a folder, as while one replaces the other. */
class Node {
  /** The newest version that was written. */
  written = 0;
  /** The version of each process; 0: none. */
  readonly versions = [0, 0];
  readonly #folder = useFastFolder();
  readonly #processes: { readonly folder: SnapshotFolder; readonly state: QueryState }[] = [];
  #version = 0;
  #boot = 0;
  #wallMs = 1_000_000_000_000;
  #monotonicMs = 0;

  constructor() {
    jest.spyOn(Date, 'now').mockImplementation(() => this.#wallMs);
    const hrtime = () => BigInt(Math.round(this.#monotonicMs * 1e6));
    jest.spyOn(process.hrtime, 'bigint').mockImplementation(hrtime);
  }

  /** The clock is set. */
  setClock(ms: number): void {
    this.#wallMs = Math.max(0, this.#wallMs + ms);
  }

  /** A process starts, cut off from the API server; the one before it was killed. */
  async start(which: number): Promise<void> {
    const folder = createSnapshots({
      folder: this.#folder,
      bootId: `boot ${this.#boot}`,
      graceMs: 10,
      maxBytes: 1 << 20,
      writeBytesPerSecond: 1e12,
      // Only a flush writes.
      quietMs: 1e8,
      unrestMs: 1e8,
    });
    const state = folder.writer.open('protobuf /api/v1/services');
    this.#processes[which] = { folder, state };
    const stored = await folder.load(state);
    const version = Number(stored?.resourceVersion ?? 0);
    expect(version).toBe(this.written);
    if (stored !== undefined) state.adopt([webAt(version)], stored);
    this.versions[which] = version;
  }

  /** @param wallMs by which its clock differs from the time that has passed */
  async reboot(wallMs: number): Promise<void> {
    this.#boot++;
    this.#monotonicMs = 0;
    this.setClock(wallMs);
    for (const which of [0, 1]) await this.start(which);
  }

  /** The API server reports a change to one of the processes. */
  report(which: number): void {
    this.#pass(1);
    this.versions[which] = ++this.#version;
    this.#processes[which]?.state.update([webAt(this.#version)], String(this.#version));
  }

  /** A certificate is rotated, or the file has gone. */
  rewrite(which: number): void {
    this.#processes[which]?.state.rewrite();
  }

  /** Changes wait for 1 to 10 s until they are written. */
  async write(which: number): Promise<void> {
    this.#pass(6_000);
    const { folder, state } = this.#processes[which] ?? {};
    await folder?.flush();
    const version = this.versions[which] ?? 0;
    expect(state?.isOnDisk).toBe(version > 0);
    expect(folder?.problem).toBeUndefined();
    this.written = Math.max(this.written, version);
  }

  #pass(ms: number): void {
    this.#wallMs += ms;
    this.#monotonicMs += ms;
  }
}

const who = fc.nat(1);
const anyMs = fc.constantFrom(-1e12, -86_400_000, -5_000, 5_000, 86_400_000);
const step = fc.oneof(
  fc.tuple(fc.constant('report' as const), who),
  fc.tuple(fc.constant('write' as const), who),
  fc.tuple(fc.constant('rewrite' as const), who),
  fc.tuple(fc.constant('start' as const), who),
  fc.tuple(fc.constant('setClock' as const), anyMs),
  fc.tuple(fc.constant('reboot' as const), anyMs),
);

test('the newest state that was written is on disk, however the clock is set', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20, size: 'max' }), async (steps) => {
      const node = new Node();
      await node.reboot(0);
      for (const [kind, value] of steps) await node[kind](value);
      // It starts with what is on disk.
      await node.start(0);
    }),
    {
      numRuns: propertyRuns(1_000),
      // Random steps seldom write so late in one boot and so early in the next.
      examples: [
        [
          [
            ['write', 0],
            ['report', 0],
            ['write', 0],
            ['reboot', 5_000],
            ['report', 0],
            ['write', 0],
          ],
        ],
      ],
    },
  );
});
