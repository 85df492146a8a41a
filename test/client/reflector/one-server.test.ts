import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  behind,
  bookmark,
  list,
  object,
  refusal,
  type SimulatedAnswer,
} from '../../support/reflector/simulated-server.ts';
import { type Simulation, useSimulation } from '../../support/reflector/simulation.ts';

/* What one query finds out about the API server helps all others. */

let simulation: Simulation;
beforeEach(async () => {
  simulation = await useSimulation();
});

const FIRST = '/api/v1/things0';
const silent: SimulatedAnswer = { status: 200, body: { lines: [], end: 'open' } };

describe('an API server whose etcd was restored from an older copy', () => {
  // Each query found out for itself. One whose version the new history had passed kept objects of the lost one.
  test.each<[string, () => SimulatedAnswer, number]>([
    ['answers that it is behind a version', behind, 15],
    ['lists an older state than it was asked for', () => list(15, []), 15],
    ['has an older state of an object', () => list(25, [object(15)]), 25],
    ['has forgotten the version', () => refusal(410), 15],
    ['has passed the version by its own writes when the list arrives', behind, 25],
  ])('and that %s makes all queries list again, once', async (_, answer, listed) => {
    const { server } = simulation;
    for (let n = 0; n < 10; n++) server.change(FIRST);
    await simulation.pass(1_000);
    expect(simulation.shown).toEqual(['20', '10', '10', '10', '10']);
    // In the new history no object exists. The versions of all queries except the first are in it.
    server.fault = ({ path, verb, version }) => {
      if (verb === 'watch') return silent;
      if (path === FIRST && version !== null) return answer();
      return verb === 'list' ? list(listed, []) : list(listed, [object(10)]);
    };
    server.cut();
    await simulation.pass(10_000);
    expect(simulation.shown).toEqual(['', '', '', '', '']);
    expect(server.listed.filter(({ version }) => version === null)).toHaveLength(5);
    expect(simulation.reflectors.every(({ status }) => status.connected)).toBe(true);
  });

  // In another history an object with the same version may have another state.
  test.each([
    ['an older list', 15],
    ['an older object in a newer list', 25],
  ])('has none of the known objects, for all queries, once %s shows it', async (_, listed) => {
    const { server, changes } = simulation;
    server.version = 20;
    server.fault = ({ path: to, verb }) =>
      to === FIRST && verb === 'watch'
        ? { status: 200, body: { lines: [bookmark(20)], end: 'open' } }
        : undefined;
    server.cut();
    await simulation.pass(1_000);
    const before = [...changes];
    server.fault = ({ path: to, verb, version }) => {
      if (to !== FIRST) return verb === 'list' ? list(25, [object(20)]) : silent;
      return version === null ? list(listed, [object(9)]) : refusal(410);
    };
    server.cut();
    await simulation.pass(3_000);
    expect(changes).toEqual(before.map((count) => count + 1));
  });
});

test('when the preferred server is used again, each watch moves to it within a second and loses nothing', async () => {
  const { server } = simulation;
  const watched = server.requests.length;
  server.serverState.history.reportReturned();
  server.change();
  const failures = new Set<number | undefined>();
  for (let passed = 0; passed < 1_500; passed += 50) {
    await simulation.pass(50);
    for (const { status } of simulation.reflectors) failures.add(status.failures);
  }
  const verbs = server.requests.slice(watched).map(({ verb }) => verb);
  expect(verbs.filter((verb) => verb === 'watch')).toHaveLength(5);
  expect(verbs).not.toContain('list');
  expect(simulation.isRight).toBe(true);
  expect([...failures]).toEqual([0]);
});

// It may be behind the one that has ended the watch in its time.
test('a watch that goes on at another server checks whether that one has reached the version', async () => {
  const { server } = simulation;
  await simulation.pass(600_000);
  server.address = 'another';
  server.requests.splice(0);
  server.end();
  await simulation.pass(2_000);
  expect(server.requests.map(({ verb }) => verb).sort()).toEqual([
    ...Array(5).fill('check'),
    ...Array(5).fill('watch'),
  ]);
});

// The list shows nothing of the server that was in use when it was sent.
test('a watch at another server than the one that has listed checks the version of the list', async () => {
  const { server } = simulation;
  await simulation.pass(10_000);
  server.requests.splice(0);
  server.compacted = ++server.version;
  server.fault = ({ path: to, verb }) => {
    if (to === FIRST) server.address = verb === 'list' ? 'another' : 'simulated';
    return undefined;
  };
  server.cut();
  await simulation.pass(5_000);
  const sent = server.requests.filter(({ path: to }) => to === FIRST).map(({ verb }) => verb);
  expect(sent).toEqual(['watch', 'list', 'watch', 'check']);
  expect(simulation.isRight).toBe(true);
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
    server.fault = ({ path: to }) => (to === FIRST ? refusal(403) : undefined);
    server.cut();
    for (let n = 0; n < 60; n++) {
      server.change();
      await simulation.pass(1_000);
    }
    const early = simulation.sentBy(0).length;
    expect(early).toBeLessThanOrEqual(45);
    await simulation.pass(60_000);
    expect(simulation.sentBy(0).length - early).toBeLessThanOrEqual(4);
    expect(server.serverState.unreachableSince).toBeUndefined();
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
    const [expired, listed] = simulation.sentBy(n).slice(-3);
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
    if (to !== FIRST) return undefined;
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
  const lists = simulation.sentBy(0).filter(({ verb }) => verb === 'list');
  expect(lists.map(({ version }) => version)).toEqual(['15', null]);
});

test('a watch does not count as connected before the API server has reached its version', async () => {
  const { server, reflectors } = simulation;
  server.fault = ({ verb }) => (verb === 'check' ? { failsAfter: 5_000 } : undefined);
  server.cut();
  await simulation.pass(3_000);
  expect(reflectors.filter(({ status }) => status.connected)).toEqual([]);
});

describe('404 in plain text', () => {
  const NOT_FOUND: SimulatedAnswer = {
    status: 404,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: { lines: ['404 page not found'], end: 'closed' },
  };

  // An API server answers so for a custom resource that is not defined.
  test('to a custom resource alone means that it does not exist, until it does', async () => {
    const { server, lines, reflectors, shown } = simulation;
    server.fault = ({ path }) => (path.startsWith('/apis/example.com') ? NOT_FOUND : undefined);
    server.cut();
    await simulation.pass(10_000);
    expect(shown).toEqual(['10', '10', '10', '10', '']);
    expect(reflectors.map(({ status }) => status.synced)).toEqual(Array(5).fill(true));
    expect(server.serverState.condition.name).toBe('reachable');
    expect(lines.filter(({ level }) => level > 30)).toEqual([]);
    server.fault = () => undefined;
    await simulation.pass(10_000);
    expect(shown).toEqual(Array(5).fill('10'));
  });

  // It was sent again twice a second, and nothing said so.
  test('to a custom resource, and a bug of ours at that, is logged, and the request sent again later', async () => {
    const { server, lines } = simulation;
    server.fault = ({ path }) => (path.startsWith('/apis/example.com') ? NOT_FOUND : undefined);
    simulation.onChanges = () => {
      throw new TypeError('undefined is no object');
    };
    server.cut();
    await simulation.pass(10_000);
    expect(simulation.sentBy(4).length).toBeLessThanOrEqual(10);
    expect(lines.filter(({ level }) => level > 30)).toMatchObject([
      { level: 50, err: { type: 'TypeError' }, collection: '/apis/example.com/v1/things4' },
    ]);
  });

  // Its message would name a failure on each node without the resource, at each start.
  test('to a custom resource is not reported while other queries are not answered yet', async () => {
    const { server, lines } = simulation;
    server.fault = ({ path }) =>
      path.startsWith('/apis/example.com') ? NOT_FOUND : { failsAfter: 60_000 };
    server.cut();
    const before = lines.length;
    await simulation.pass(20_000);
    expect(simulation.sentBy(4).length).toBeGreaterThan(3);
    expect(server.serverState.condition.name).toBe('reachable');
    expect(lines.slice(before).filter(({ level }) => level > 30)).toEqual([]);
    expect(simulation.shown[4]).toBe('10');
  });

  // An ingress controller in its place answers so for everything.
  test('to everything means that no API server answers, and removes nothing', async () => {
    const { server, shown } = simulation;
    server.fault = () => NOT_FOUND;
    server.cut();
    await simulation.pass(60_000);
    expect(server.serverState.condition.name).toBe('unreachable');
    expect(shown).toEqual(Array(5).fill('10'));
  });
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
    expect.stringContaining('the API server is unreachable'),
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
  expect(simulation.sentBy(0).filter(({ verb }) => verb === 'watch').length).toBeLessThanOrEqual(
    20,
  );
});
