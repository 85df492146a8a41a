import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  FileFollower,
  type FileFollowerOptions,
} from '../../../src/client/system/file-follower.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { useFolder } from '../../support/use-folder.ts';

let failures: string[];

function follow(options: Partial<FileFollowerOptions>): FileFollower {
  failures = [];
  return closedLater(
    new FileFollower({
      read: async () => {},
      onFailure: ({ message }) => failures.push(message),
      pollMs: 3_600_000,
      ...options,
    }),
  );
}

describe('files that are followed', () => {
  test('are read soon after their folder has changed', async () => {
    const folder = useFolder();
    let readings = 0;
    follow({ read: async () => void readings++, watched: [join(folder, 'a'), join(folder, 'b')] });
    writeFileSync(join(folder, 'a'), 'new');
    await eventually(() => readings > 0, true);
  });

  test('are polled even if their folder does not exist', async () => {
    let readings = 0;
    follow({ read: async () => void readings++, watched: ['/missing/folder/a'], pollMs: 5 });
    await eventually(() => readings > 0, true);
  });

  test('are not read after close', async () => {
    let readings = 0;
    follow({ read: async () => void readings++, pollMs: 5 }).close();
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(readings).toBe(0);
  });
});

describe('a failed reading', () => {
  test('is counted each time, and reported once per cause until one succeeds', async () => {
    const causes = ['a', 'a', 'b', '', 'b'];
    const of = follow({
      read: async () => {
        const cause = causes.shift();
        if (cause !== '') throw new Error(cause);
      },
    });
    for (let n = 0; n < 3; n++) await of.reread();
    expect([failures, of.failures, of.problem]).toEqual([['a', 'b'], 3, 'b']);
    await of.reread();
    expect(of.problem).toBeUndefined();
    await of.reread();
    expect([failures, of.failures]).toEqual([['a', 'b', 'b'], 4]);
  });
});

describe('a forced reading', () => {
  test('begins after the one under way, and is shared', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const forced: boolean[] = [];
    const of = follow({
      read: async (force) => {
        forced.push(force);
        if (forced.length === 1) await promise;
      },
    });
    const readings = [of.reread(), of.forceReread(), of.forceReread(), of.reread()];
    expect(forced).toEqual([false]);
    resolve();
    await Promise.all(readings);
    expect(forced).toEqual([false, true]);
  });
});
