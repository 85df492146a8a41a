import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { QueryState } from '../../../src/client/snapshot/query-state.ts';
import type { SnapshotFolder } from '../../../src/client/snapshot/snapshot-folder.ts';
import type { Change } from '../../../src/filter/objects/change.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { createSnapshots, webAt } from '../../support/snapshots.ts';
import { useFolder } from '../../support/use-folder.ts';

/*
 * Planned replacements while the API server is unreachable: the next process read a snapshot before the last one had
 * written its newest state, and showed an older one. And the last one, which ended later, replaced a newer file.
 */

const QUERY = 'protobuf /api/v1/services';

/** A process with one query, as far as its snapshots are concerned. */
class Process {
  readonly folder: SnapshotFolder;
  readonly state: QueryState;
  /** The version that its clients see; 0: none. */
  shown = 0;

  constructor(folder: string, last: Process | undefined) {
    this.folder = createSnapshots({
      folder,
      // Nothing is written in its time: only a flush and the end write.
      graceMs: 10,
      maxBytes: 1 << 20,
      writeBytesPerSecond: 1,
      quietMs: 1e8,
      unrestMs: 1e8,
      flushLastProcess: async () => last?.folder.flush(),
    });
    this.state = this.folder.writer.open(QUERY);
  }

  /** The API server reports this version. */
  receive(version: number): void {
    this.state.update([webAt(version)], String(version));
    this.shown = version;
  }

  /** It cannot reach the API server at its start. */
  async fallBack(): Promise<void> {
    const stored = await this.folder.loadNewest(this.state, () => {});
    if (stored === undefined) return;
    this.shown = Number(stored.resourceVersion);
    expect(stored.objects.map(String)).toEqual([`v${this.shown}`]);
    const [object = Buffer.alloc(0)] = stored.objects;
    this.state.adopt([{ ...webAt(this.shown), object } as Change], stored);
  }

  async stop(): Promise<void> {
    await this.folder.flush();
    await this.folder.close();
  }
}

/** What happens between a start and the end of the process before: changes, and how the API server is at the start. */
const replacement = fc.record({
  before: fc.nat(2),
  isCutOff: fc.boolean(),
  during: fc.nat(2),
  lastSeesChanges: fc.boolean(),
  endsBeforeRead: fc.boolean(),
});

test('the next process never shows an older state than the last one, in any order of their steps', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(replacement, { minLength: 1, maxLength: 5 }), async (steps) => {
      const folder = useFolder();
      let version = 10;
      let last = new Process(folder, undefined);
      last.receive(version);
      for (const { before, isCutOff, during, lastSeesChanges, endsBeforeRead } of steps) {
        if (!isCutOff || last.shown === version) {
          for (let n = 0; n < before; n++) last.receive(++version);
        }
        const next = new Process(folder, last);
        const shown = last.shown;
        if (isCutOff) {
          if (endsBeforeRead) await last.stop();
          await next.fallBack();
          expect(next.shown).toBeGreaterThanOrEqual(shown);
          if (!endsBeforeRead) await last.stop();
        } else {
          next.receive(version);
          // Time passes: files are told apart by the millisecond in which the API server reported them.
          await delay(2);
          for (let n = 0; n < during; n++) {
            next.receive(++version);
            if (lastSeesChanges) last.receive(version);
          }
          await next.folder.flush();
          await last.stop();
        }
        last = next;
      }
      await last.stop();
      const reader = new Process(folder, undefined);
      await reader.fallBack();
      expect(reader.shown).toBe(last.shown);
      await reader.stop();
    }),
    { numRuns: propertyRuns(40) },
  );
});
