import { describe, expect, test } from '@jest/globals';
import { changedServices, type Row } from '../../demo/changes.ts';
import { formatChanges, formatDifference, formatServices } from '../../demo/table.ts';

function row(id: string, changes: Partial<Row> = {}): Row {
  const [service = '', address = ''] = id.split(' ');
  const rest = { keys: 'site', state: '', node: 'edge-1', shown: true, why: 'site matches' };
  return { id, service, address, ...rest, ...changes };
}

function rows(services: number, endpoints: number, changes: Partial<Row> = {}): Row[] {
  return Array.from({ length: services }, (_, service) =>
    Array.from({ length: endpoints }, (_, index) => row(`a/s${service} 10.0.0.${index}`, changes)),
  ).flat();
}

describe('changedServices()', () => {
  test('marks what is shown now, what is not, and what has another reason, state or policy', () => {
    const before = ['1', '2', '3', '4', '5', '6'].map((each) => row(`a/web ${each}`));
    const after = [
      row('a/web 1', { shown: false }),
      row('a/web 2', { why: 'other' }),
      row('a/web 3', { state: 'not ready' }),
      row('a/web 4', { keys: 'zone' }),
      row('a/web 5'),
      row('a/web 7'),
    ];
    const [changed] = changedServices(before, after);
    expect(changed?.rows.map(({ mark }) => mark)).toEqual(['-', '~', '~', '~', '', '+']);
  });

  test('has only the Services of which a row has changed', () => {
    const before = [row('a/web 1'), row('a/db 1')];
    expect(changedServices(before, before)).toEqual([]);
    const after = [row('a/web 1'), row('a/db 1', { shown: false })];
    expect(changedServices(before, after).map(({ service }) => service)).toEqual(['a/db']);
  });
});

// It once stood behind the name of the node.
test('the state of an endpoint stands behind its address', () => {
  const text = formatServices([row('a/web 1'), row('a/web 2', { state: 'not ready' })]);
  expect(text).toContain('yes    2 (not ready)  edge-1');
});

describe('the table of changes', () => {
  test('says without colours which rows changed, and how', () => {
    const before = [row('a/web 1'), row('a/web 2', { shown: false }), row('a/web 3')];
    const after = [row('a/web 1', { shown: false }), row('a/web 2'), row('a/web 3')];
    const changed = changedServices(before, after);
    expect(formatChanges(changed)).toMatchInlineSnapshot(`
"     SHOWN    ENDPOINT  NODE    WHY
  a/web: site
  -  now no   1         edge-1  site matches
  +  now yes  2         edge-1  site matches
     yes      3         edge-1  site matches
"
`);
    expect(formatDifference(changed, 5)).toBe(
      '1 more and 1 fewer than before, with changes in 1 of 5 Services',
    );
  });

  test('has the Services of which more or less is shown first, if not all fit', () => {
    const before = rows(2_000, 2);
    const after = before.map((each) =>
      each.service === 'a/s1999' ? { ...each, shown: false } : { ...each, why: 'other' },
    );
    const text = formatChanges(changedServices(before, after));
    expect(text.split('\n')[1]).toBe('  a/s1999: site');
    expect(text).toContain('and 1,990 more Services have changed');
  });
});

describe('the table of all Services', () => {
  test('fits on a screen, whatever the size of the cluster', () => {
    for (const [services, endpoints] of [
      [1, 5_000],
      [10_000, 4],
      [3, 20],
    ] as const) {
      const lines = formatServices(rows(services, endpoints)).split('\n');
      expect(lines.length).toBeLessThan(40);
    }
    expect(formatServices(rows(1, 5_000))).toContain('and 4,988 more');
    expect(formatServices(rows(10_000, 4))).toMatch(
      /and 9,994 more Services; show SERVICE prints one\n$/,
    );
  });

  test('has the Services of which something is left out first, if not all fit', () => {
    const all = rows(50, 4).map((each) => ({ ...each, shown: each.service !== 'a/s49' }));
    expect(formatServices(all).split('\n')[1]).toBe('  a/s49: site');
  });
});
