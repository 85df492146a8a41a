import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import type { PlantedBug } from '../support/guarantees/planted-bug.ts';
import { PlantedScene } from '../support/guarantees/planted-scene.ts';
import type { Guarantee } from '../support/guarantees/watch-guarantees.ts';

jest.setTimeout(60_000);

let scene: PlantedScene;

beforeEach(() => {
  scene = new PlantedScene();
});

/** Replaces the third event of each watch. Bookmarks do not count. */
function atThirdEvent(alter: (line: string) => readonly string[]): PlantedBug {
  return {
    lines: () => {
      let events = 0;
      return (line) => {
        if (!line.includes('"BOOKMARK"')) events += 1;
        return events === 3 ? alter(line) : [line];
      };
    },
  };
}

/** Swaps the third and the fourth event. */
function swapping(): PlantedBug {
  return {
    lines: () => {
      let events = 0;
      let held = '';
      return (line) => {
        events += 1;
        if (events === 3) held = line;
        return events === 3 ? [] : events === 4 ? [line, held] : [line];
      };
    },
  };
}

function bookmarkOf(line: string): string {
  const { object } = JSON.parse(line) as { object: { metadata: { resourceVersion: string } } };
  const { resourceVersion } = object.metadata;
  return JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion } } });
}

/** Lists one of two slices as it is now, and the other as it was at the first list. */
function tearing(): PlantedBug {
  interface List {
    readonly metadata: object;
    readonly items: readonly { readonly metadata: { readonly name: string } }[];
  }
  let first: List | undefined;
  return {
    list: (body) => {
      const list = JSON.parse(body) as List;
      first ??= list;
      const old = first.items.find(({ metadata }) => metadata.name === 'web-b');
      const items = list.items.map((item) =>
        item.metadata.name === 'web-b' && old !== undefined ? old : item,
      );
      return JSON.stringify({ ...list, items });
    },
  };
}

async function follow(bug: PlantedBug): Promise<Guarantee[]> {
  await scene.start(bug, 'list');
  for (let count = 0; count < 6; count++) await scene.change();
  const last = scene.records.steady.at(-1);
  const version = last?.kind === 'event' ? last.object.version : '';
  await eventually(() => JSON.stringify(scene.records.second).includes(version), true);
  return scene.violated();
}

describe('recording clients and the validator', () => {
  test('find no violation without a planted bug', async () => {
    expect(await follow({})).toEqual([]);
  });

  test.each<[Guarantee, string, PlantedBug]>([
    ['reliable', 'an event is dropped', atThirdEvent(() => [])],
    ['unique', 'an event is sent twice', atThirdEvent((line) => [line, line])],
    ['ordered', 'two events are swapped', swapping()],
    ['bookmarkable', 'a bookmark is sent early', atThirdEvent((line) => [bookmarkOf(line), line])],
  ])('find that it is not %s when %s', async (guarantee, _what, bug) => {
    expect(await follow(bug)).toContain(guarantee);
  });

  test('find that it is not resumable when a version of an earlier process is accepted', async () => {
    let restarted = false;
    const version = async (requested: string) => (restarted ? await scene.version() : requested);
    await scene.start({ version }, 'list');
    await scene.change();
    restarted = true;
    await scene.restartWrapper();
    const since = Date.now();
    const accepted = () =>
      scene.records.second.some(({ kind, answered }) => kind === 'watch' && answered >= since);
    await eventually(accepted, true);
    expect(scene.violated()).toContain('resumable');
  });

  test('find that it is not atomic when a list is taken within a change', async () => {
    await scene.start(tearing(), 'lists');
    await scene.relabel('b');
    const before = scene.records.second.length;
    await eventually(() => scene.records.second.length > before + 1, true);
    expect(scene.violated()).toContain('atomic');
  });
});
