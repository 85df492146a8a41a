import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  behind,
  bookmark,
  event,
  refusal,
  type SimulatedAnswer,
} from '../../support/reflector/simulated-server.ts';
import { type Simulation, useSimulation } from '../../support/reflector/simulation.ts';

/* What one reflector does when its lists and watches fail. */

let simulation: Simulation;

beforeEach(async () => {
  simulation = await useSimulation(7, 1);
});

/** A watch that sends these lines and then ends. */
const watch = (...lines: readonly object[]): SimulatedAnswer => ({
  status: 200,
  body: { lines, end: 'closed' },
});
const useful = () => event('MODIFIED', ++simulation.server.version);
const unusable = () => ({ type: 'ADDED', object: { kind: 'Service', metadata: { name: 'it' } } });
const broken = () => ({ type: 'ERROR', object: { kind: 'Status', code: 500, message: 'broken' } });

/** Cuts the watch, and answers each further one. Returns the number of watches since. */
function answerWatches(answer: (nth: number) => SimulatedAnswer): () => number {
  const { server } = simulation;
  let watches = 0;
  server.fault = ({ verb }) => (verb === 'watch' ? answer(watches++) : undefined);
  server.cut();
  return () => watches;
}

const status = () => simulation.reflectors[0]?.status;
const logged = (text: string) => simulation.lines.filter(({ msg }) => msg.startsWith(text)).length;
const lists = () => simulation.server.requests.filter(({ verb }) => verb === 'list');

test('a watch that ends early is not a failure when it has brought an event', async () => {
  const watches = answerWatches((nth) => (nth < 5 ? watch(useful()) : undefined));
  await simulation.pass(5_000);
  expect(watches()).toBe(6);
  expect(simulation.isRight).toBe(true);
  expect([status()?.failures, logged('interrupted')]).toEqual([0, 0]);
});

describe('one continued failure is', () => {
  // Otherwise the reflector would watch again without a pause, or report a recovery each time.
  test('a watch that ends immediately without an event', async () => {
    const watches = answerWatches(() => watch());
    await simulation.pass(20_000);
    expect(watches()).toBeGreaterThan(5);
    expect([logged('interrupted'), logged('connected again')]).toEqual([1, 0]);
    expect(lists()).toEqual([]);
  });

  test('an error in each watch, until a useful event comes', async () => {
    answerWatches(() => watch(broken()));
    await simulation.pass(5_000);
    expect(status()?.failures).toBeGreaterThan(2);
    expect(status()?.error?.message).toContain('broken');
    expect(status()).toMatchObject({ connected: false });
    expect(status()?.staleMs).toBeGreaterThan(4_000);
    expect([logged('interrupted'), lists().length]).toEqual([1, 0]);
    answerWatches(() => ({ status: 200, body: { lines: [useful()], end: 'open' } }));
    await simulation.pass(5_000);
    expect(status()).toMatchObject({ failures: 0, error: undefined });
    expect(logged('connected again')).toBe(1);
  });

  test.each([
    ['an unusable event', unusable()],
    ['a line that does not parse', 'nonsense'],
  ])('%s in each watch, which leads to a list', async (_, line) => {
    answerWatches(() => ({ status: 200, body: { lines: [line], end: 'open' } }));
    await simulation.pass(5_000);
    expect(lists().length).toBeGreaterThan(0);
    expect(status()?.failures).toBeGreaterThan(2);
    expect(logged('interrupted')).toBe(1);
    expect(simulation.lines.find(({ msg }) => msg.startsWith('interrupted'))).toMatchObject({
      collection: '/api/v1/things0',
      code: 'Malformed',
    });
    expect(simulation.shown).toEqual(['10']);
  });
});

// A TypeError of our own was "Unreachable: the API server ..." in the log, without its stack.
test('a bug in a handler is logged with its stack, is not the API server, and is tried again later', async () => {
  const { server, lines } = simulation;
  simulation.onChanges = () => {
    throw new TypeError('undefined is no object');
  };
  server.change();
  await simulation.pass(60_000);
  expect(status()?.error).toMatchObject({ code: 'Internal', message: 'undefined is no object' });
  expect(server.requests.length).toBeLessThanOrEqual(30);
  const errors = lines.filter(({ level }) => level >= 40);
  expect(errors).toMatchObject([
    {
      level: 50,
      collection: '/api/v1/things0',
      err: { type: 'TypeError', stack: expect.stringContaining('reflector-failures.test.ts') },
      msg: expect.stringContaining('kube-proxy-wrapper itself'),
    },
  ]);
  expect(server.serverState.condition.name).toBe('reachable');
  simulation.onChanges = () => {};
  await simulation.untilRight(60_000);
  await simulation.pass(15_000);
  expect([simulation.isRight, status()?.failures]).toEqual([true, 0]);
});

test('unusable events with useful ones between them do not lead to a list', async () => {
  const watches = answerWatches((nth) => {
    if (nth >= 6) return undefined;
    return watch(nth % 2 === 0 ? unusable() : useful());
  });
  await simulation.pass(10_000);
  expect(watches()).toBe(7);
  expect(lists()).toEqual([]);
});

test('a refusal counts after three in a row, without a success or another failure between them', async () => {
  const { server, refusals } = simulation;
  refusals.splice(0);
  const statuses = [403, 403, 500, 403, 403, 200, 403, 403, 200, 403, 403, 403];
  const watches = answerWatches((nth) => {
    if (statuses[nth] === 200) return watch(bookmark(server.version));
    return nth < statuses.length ? refusal(statuses[nth] as number) : undefined;
  });
  await simulation.pass(60_000);
  expect(watches()).toBe(statuses.length + 1);
  expect(refusals).toEqual([undefined, undefined, 403, undefined]);
});

test('Retry-After is obeyed', async () => {
  const { server } = simulation;
  const watches = answerWatches((nth) =>
    nth === 0 ? refusal(429, { 'retry-after': '20' }) : undefined,
  );
  await simulation.pass(30_000);
  const [refused = 0, next = 0] = server.requests
    .filter(({ verb }) => verb === 'watch')
    .map(({ at }) => at);
  expect(watches()).toBe(2);
  expect(next - refused).toBeGreaterThanOrEqual(20_000);
  expect(next - refused).toBeLessThanOrEqual(25_000);
});

// The version of a bookmark was forgotten: a quiet watch that was cut had to list again.
test('a watch continues from the last bookmark', async () => {
  const { server } = simulation;
  answerWatches((nth) => (nth === 0 ? watch(bookmark(++server.version)) : undefined));
  await simulation.pass(5_000);
  const watches = server.requests.filter(({ verb }) => verb === 'watch');
  expect(watches.map(({ version }) => version)).toEqual(['10', '11']);
});

// The age grew without end: a watch proved something only after 10 s.
test.each([2_000, 6_000])(
  'the data is new behind a load balancer that ends each watch after %d ms',
  async (idleMs) => {
    const ages: number[] = [];
    for (let n = 0; n < 20; n++) {
      await simulation.pass(idleMs);
      simulation.server.end();
      for (let waited = 0; waited < 4_000; waited += 500) {
        await simulation.pass(500);
        ages.push(status()?.staleMs ?? Number.POSITIVE_INFINITY);
      }
    }
    expect(Math.max(...ages)).toBeLessThan(5_000);
    simulation.server.change();
    expect(await simulation.untilRight(5_000)).toBeLessThan(5_000);
  },
);

// A watch lasts 5 to 10 minutes. An API server that stops ends it sooner.
test.each([
  [15_000, ['check', 'watch']],
  [600_000, ['watch']],
])('after a watch that was ended after %d ms, these are sent: %j', async (ms, verbs) => {
  const { server } = simulation;
  await simulation.pass(ms);
  server.end();
  await simulation.pass(1_000);
  expect(server.requests.map(({ verb }) => verb).sort()).toEqual(verbs);
});

describe('an overloaded API server that refuses to check the version of an accepted watch', () => {
  // Of 60 % refused requests, most watches were accepted in vain: changes were late for as long as that lasted.
  test.each([429, 503])('with %d is asked again, and the watch stays', async (code) => {
    const { server } = simulation;
    let refused = 0;
    server.fault = ({ verb }) => (verb === 'check' && refused++ < 3 ? refusal(code) : undefined);
    server.cut();
    await simulation.pass(300);
    server.change();
    server.change();
    await simulation.untilRight(20_000);
    expect(server.requests.map(({ verb }) => verb)).toEqual([
      'watch',
      ...['check', 'check', 'check', 'check'],
    ]);
    expect(simulation.isRight).toBe(true);
    expect(status()?.failures).toBe(0);
  });

  test('shows nothing of the watch before the check, and lists if the history is another one', async () => {
    const { server } = simulation;
    let checks = 0;
    server.fault = ({ verb }) => {
      if (verb !== 'check') return undefined;
      return checks++ === 0 ? refusal(429) : behind();
    };
    server.cut();
    await simulation.pass(300);
    const before = simulation.shown[0];
    server.change();
    await simulation.pass(200);
    expect([simulation.shown[0], status()?.connected]).toEqual([before, false]);
    await simulation.untilRight(20_000);
    expect(lists().map(({ version }) => version)).toEqual([null]);
    expect(simulation.isRight).toBe(true);
  });

  // It ended as a silence, so that the API server counted as unreachable, though it answered each check.
  test('is not asked more often than any failing query, and for 90 s', async () => {
    const { server } = simulation;
    server.fault = ({ verb }) => (verb === 'check' ? refusal(429) : undefined);
    server.cut();
    await simulation.pass(30_000);
    expect(server.requests.length).toBeLessThanOrEqual(25);
    const watches = () => server.requests.filter(({ verb }) => verb === 'watch').length;
    await simulation.pass(55_000);
    expect(watches()).toBe(1);
    await simulation.pass(20_000);
    expect([watches(), status()?.error?.status?.code]).toEqual([2, 429]);
  });

  test.each([
    ['before the check, which is passed', 1_000],
    ['at its refusal', 1_000],
    ['after its refusal', 3_000],
  ])('is left if another one is used %s, within %d ms', async (moves, limitMs) => {
    const { server } = simulation;
    let isFirst = true;
    server.fault = ({ verb }) => {
      if (verb !== 'check' || !isFirst) return undefined;
      isFirst = false;
      if (moves !== 'after its refusal') server.address = 'another';
      return moves.startsWith('before') ? undefined : refusal(429);
    };
    server.cut();
    await simulation.pass(300);
    server.address = 'another';
    expect(await simulation.untilRight(10_000)).toBeLessThanOrEqual(limitMs);
    const verbs = server.requests.map(({ verb }) => verb);
    const of = (verb: string) => verbs.filter((each) => each === verb).length;
    expect([of('watch'), of('check'), of('list')]).toEqual([2, 2, 0]);
  });
});
