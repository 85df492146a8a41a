import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  behind,
  bookmark,
  list,
  object,
  refusal,
  type SimulatedAnswer,
} from '../../support/reflector/simulated-server.ts';
import { Simulation, sequence } from '../../support/reflector/simulation.ts';

/* What one query finds out about the API server helps all others. */

let simulation: Simulation;
beforeEach(async () => {
  simulation = new Simulation(sequence(7));
  await simulation.untilRight(5_000);
  await simulation.pass(15_000);
  simulation.server.requests.splice(0);
});
afterEach(async () => simulation.close());

const path = (n: number) => `/api/v1/things${n}`;
const sentTo = (n: number) => simulation.server.requests.filter((each) => each.path === path(n));
const silent: SimulatedAnswer = { status: 200, body: { lines: [], end: 'open' } };

describe('an API server whose etcd was restored from an older copy', () => {
  // Each query found out for itself. One whose version the new history had passed kept objects of the lost one.
  test.each([
    ['answers that it is behind a version', () => undefined],
    ['lists an older state than it was asked for', () => list(15, [])],
  ])('and that %s makes all queries list again, once', async (_how, answer) => {
    const { server } = simulation;
    for (let n = 0; n < 10; n++) server.change(path(0));
    await simulation.pass(1_000);
    expect(simulation.shown).toEqual(['20', '10', '10', '10', '10']);
    // In the new history no object exists. The versions of all queries except the first are in it.
    server.version = 15;
    server.fault = ({ path: to, verb }) => {
      if (verb === 'check' && to === path(0)) return answer() ?? behind();
      if (verb === 'list') return list(15, []);
      return verb === 'watch' ? silent : undefined;
    };
    server.cut();
    await simulation.pass(10_000);
    expect(simulation.shown).toEqual(['', '', '', '', '']);
    expect(server.listed.filter(({ version }) => version === null)).toHaveLength(5);
    expect(simulation.reflectors.every(({ status }) => status.connected)).toBe(true);
  });

  test('is noticed by a list of the newest state that is older than the one before', async () => {
    const { server } = simulation;
    for (let n = 0; n < 10; n++) server.change(path(0));
    await simulation.pass(1_000);
    server.version = 15;
    server.fault = ({ path: to, verb, version }) => {
      const isNewest = verb === 'list' && version === null;
      if (to === path(0) && server.serverState.history === 0 && !isNewest) return refusal(410);
      if (verb === 'list') return list(15, []);
      return verb === 'watch' ? silent : undefined;
    };
    server.cut();
    await simulation.pass(10_000);
    expect(simulation.shown).toEqual(['', '', '', '', '']);
    expect(server.listed.filter(({ version }) => version === null)).toHaveLength(5);
  });

  // In another history an object with the same version may have another state.
  test('has none of the known objects, for all queries', async () => {
    const { server, changes } = simulation;
    server.version = 20;
    server.fault = ({ path: to, verb }) =>
      to === path(0) && verb === 'watch'
        ? { status: 200, body: { lines: [bookmark(20)], end: 'open' } }
        : undefined;
    server.cut();
    await simulation.pass(1_000);
    const before = [...changes];
    server.fault = ({ path: to, verb, version }) => {
      if (to !== path(0)) return verb === 'list' ? list(25, [object(20)]) : silent;
      return version === null ? list(15, [object(10)]) : refusal(410);
    };
    server.cut();
    await simulation.pass(3_000);
    expect(changes).toEqual(before.map((count) => count + 1));
  });

  // By its own writes the new history passes the old versions within seconds.
  test('is noticed although the new history has passed the old version when the list arrives', async () => {
    const { server } = simulation;
    for (let n = 0; n < 10; n++) server.change(path(0));
    await simulation.pass(1_000);
    server.version = 15;
    server.fault = ({ path: to, verb }) => {
      if (verb === 'check' && to === path(0)) return behind();
      if (verb === 'list') return list(25, []);
      return verb === 'watch' ? silent : undefined;
    };
    server.cut();
    await simulation.pass(10_000);
    expect(simulation.shown).toEqual(['', '', '', '', '']);
  });

  test('and that stays behind a version does not make all queries list without end', async () => {
    const { server } = simulation;
    server.fault = ({ verb }) => (verb === 'check' ? behind() : undefined);
    for (let n = 0; n < 12; n++) {
      server.cut();
      await simulation.pass(5_000);
    }
    expect(server.serverState.history).toBeLessThanOrEqual(2);
  });
});

test('when the preferred server is used again, each watch moves to it within a second and loses nothing', async () => {
  const { server } = simulation;
  const watched = server.requests.length;
  server.serverState.noteReturned();
  server.change();
  await simulation.pass(1_500);
  const verbs = server.requests.slice(watched).map(({ verb }) => verb);
  expect(verbs.filter((verb) => verb === 'watch')).toHaveLength(5);
  expect(verbs).not.toContain('list');
  expect(simulation.isRight).toBe(true);
  expect(simulation.reflectors.map(({ status }) => status.failures)).toEqual([0, 0, 0, 0, 0]);
});

describe('after an outage', () => {
  test.each([5_000, 60_000, 600_000])(
    'of %d ms one query tries, and all follow within a second',
    async (ms) => {
      const { server } = simulation;
      server.fault = () => ({ failsAfter: 1 });
      server.cut();
      await simulation.pass(ms);
      server.requests.splice(0);
      await simulation.pass(20_000);
      // One attempt every 0.75 to 1.5 s, or every 2.5 to 5 s, by all five queries together.
      const [atLeast, atMost] = ms > 300_000 ? [4, 8] : [13, 27];
      expect(server.requests.length).toBeGreaterThanOrEqual(atLeast);
      expect(server.requests.length).toBeLessThanOrEqual(atMost);
      server.fault = () => undefined;
      await simulation.untilRight(10_000);
      const watches = server.requests.filter(({ verb }) => verb === 'watch').slice(-5);
      expect((watches.at(-1)?.at ?? 0) - (watches[0]?.at ?? 0)).toBeLessThanOrEqual(1_000);
    },
  );

  test('a failure of one query alone is not tried again because others succeed', async () => {
    const { server } = simulation;
    server.fault = ({ path: to }) => (to === path(0) ? refusal(403) : undefined);
    server.cut();
    for (let n = 0; n < 60; n++) {
      server.change();
      await simulation.pass(1_000);
    }
    const early = sentTo(0).length;
    expect(early).toBeLessThanOrEqual(45);
    await simulation.pass(60_000);
    expect(sentTo(0).length - early).toBeLessThanOrEqual(4);
    expect(server.serverState.unreachableSince).toBeUndefined();
  });

  test('it is unreachable only while no query has an open watch', async () => {
    const { server } = simulation;
    server.fault = ({ path: to }) => (to === path(0) ? { failsAfter: 1 } : undefined);
    server.cut();
    await simulation.pass(30_000);
    expect(server.serverState.unreachableSince).toBeUndefined();
    server.fault = () => ({ failsAfter: 1 });
    const since = simulation.clock.now();
    server.cut();
    await simulation.pass(30_000);
    expect(server.serverState.condition).toMatchObject({ name: 'unreachable' });
    expect((server.serverState.unreachableSince ?? 0) - since).toBeLessThan(5_000);
  });
});

// It waited for the back-off of the failures before: 34 to 64 s after a restart of 1.5 to 15 s.
test('a version that has expired leads to a list at once, also after an outage', async () => {
  const { server } = simulation;
  server.fault = () => ({ failsAfter: 1 });
  server.cut();
  await simulation.pass(60_000);
  server.version++;
  server.compacted = server.version;
  server.fault = () => undefined;
  await simulation.untilRight(10_000);
  for (let n = 0; n < 5; n++) {
    const [expired, listed] = sentTo(n).slice(-3);
    expect([expired?.verb, listed?.verb]).toEqual(['watch', 'list']);
    expect((listed?.at ?? 0) - (expired?.at ?? 0)).toBeLessThanOrEqual(100);
  }
});

// As one of several servers that lags behind, or a cache before it, may answer.
test('a list that is older than it had to be is not shown: the newest state is listed', async () => {
  const { server } = simulation;
  for (let n = 0; n < 5; n++) server.change();
  await simulation.pass(1_000);
  expect(simulation.shown[0]).toBe('15');
  let hasExpired = false;
  server.fault = ({ path: to, verb, version }) => {
    if (to !== path(0)) return undefined;
    if (verb === 'list') return version === null ? undefined : list(12, [object(12)]);
    if (hasExpired) return undefined;
    hasExpired = true;
    return refusal(410);
  };
  const seen = new Set<string | undefined>();
  server.cut();
  for (let n = 0; n < 100; n++) {
    await simulation.pass(50);
    seen.add(simulation.shown[0]);
  }
  expect([...seen]).toEqual(['15']);
  expect(simulation.isRight).toBe(true);
  const lists = sentTo(0).filter(({ verb }) => verb === 'list');
  expect(lists.map(({ version }) => version)).toEqual(['15', null]);
});

// The own Node and the node sets, which are quiet, waited ever longer.
test('a quiet watch that was open for 10 s is opened again at once, however often it is cut', async () => {
  for (let n = 0; n < 20; n++) {
    simulation.server.cut();
    expect(await simulation.untilRight(10_000)).toBeLessThanOrEqual(300);
    await simulation.pass(11_000);
  }
});

// The count of bad answers outlived good lists: a reset cost 60 s.
test('bad data from before does not delay anything once a list was good', async () => {
  const { server } = simulation;
  server.fault = () => ({ status: 200, body: { lines: ['{'], end: 'closed' } });
  server.cut();
  await simulation.pass(8_000);
  server.fault = () => undefined;
  await simulation.untilRight(20_000);
  server.fault = ({ verb }) =>
    verb === 'watch' ? { status: 200, body: { lines: ['{'], end: 'closed' } } : undefined;
  server.cut();
  await simulation.pass(500);
  server.fault = () => undefined;
  expect(await simulation.untilRight(20_000)).toBeLessThanOrEqual(1_000);
});

test('an outage is two lines in the log, whatever the number of queries', async () => {
  const { server, lines } = simulation;
  server.fault = () => ({ failsAfter: 1 });
  const from = lines.length;
  server.cut();
  await simulation.pass(60_000);
  server.fault = () => undefined;
  await simulation.untilRight(10_000);
  const written = lines.slice(from).filter(({ level }) => level > 20);
  expect(written.map(({ msg }) => msg)).toEqual([
    expect.stringContaining('the API server cannot be reached'),
    'the API server answers again',
  ]);
});

// 239 requests a second: a bookmark counted as progress.
test.each([
  ['a bookmark', []],
  ['a bookmark and an error', [{ type: 'ERROR', object: { kind: 'Status', code: 500 } }]],
])('a watch that ends after %s is repeated less than once in 1.5 s', async (_what, more) => {
  const { server } = simulation;
  server.fault = ({ verb, version }) =>
    verb === 'watch'
      ? { status: 200, body: { lines: [bookmark(Number(version)), ...more], end: 'closed' } }
      : undefined;
  server.cut();
  await simulation.pass(30_000);
  server.requests.splice(0);
  await simulation.pass(30_000);
  expect(sentTo(0).filter(({ verb }) => verb === 'watch').length).toBeLessThanOrEqual(20);
});
