import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { propertyRuns } from '../../support/property-runs.ts';
import { RelayedServer } from '../../support/reflector/relayed-server.ts';
import {
  refusal,
  type SimulatedAnswer,
  type SimulatedRequest,
} from '../../support/reflector/simulated-server.ts';
import { Simulation, sequence } from '../../support/reflector/simulation.ts';

/** 30 s, and the wait before the request that is sent then. */
const MOST_MS = 35_000;
/** The query that the API server itself refuses, because there is no such collection. */
const ABSENT = 4;
/** For how long a relay answers in one way, in milliseconds. */
const SLOT_MS = 9_000;

const ANSWERS: Readonly<Record<string, SimulatedAnswer>> = {
  'as it should': undefined,
  403: refusal(403),
  404: refusal(404),
  410: refusal(410),
  '429 with a long Retry-After': refusal(429, { 'retry-after': '3600' }),
  503: refusal(503),
  'nothing to connect to': { failsAfter: 1 },
  'a byte now and then': { status: 200, body: { lines: [' '], end: 'open' } },
  'what is no list': { status: 200, body: { lines: ['{'], end: 'closed' } },
};
const kind = fc.constantFrom(...Object.keys(ANSWERS));
const verbs = fc.record({ list: kind, watch: kind, check: kind });

async function start(answer: (request: SimulatedRequest) => SimulatedAnswer, patientMs?: number) {
  const simulation = new Simulation(sequence(3), 5, (options) => {
    const server = new RelayedServer(options);
    if (patientMs !== undefined) server.relayBootsUntil = options.clock.now() + patientMs;
    return server;
  });
  const { server } = simulation;
  server.fault = (request) => {
    if (server.address === 'relay') return answer(request);
    return request.path.endsWith(`/things${ABSENT}`) ? refusal(404) : undefined;
  };
  return simulation;
}

/** Passes the time; returns the longest time that a query had neither a list nor an open watch, in milliseconds. */
async function longestUnserved(simulation: Simulation<RelayedServer>, ms: number): Promise<number> {
  const { server, reflectors, clock } = simulation;
  const servedAt = reflectors.map(() => clock.now());
  let longest = 0;
  let seen = server.listed.length;
  const end = clock.now() + ms;
  while (clock.now() < end) {
    await simulation.pass(250);
    const listed = server.listed.slice(seen).map(({ path }) => path);
    seen = server.listed.length;
    for (const [n, { status }] of reflectors.entries()) {
      const isServed = status.connected || listed.some((path) => path.endsWith(`/things${n}`));
      if (isServed || n === ABSENT) servedAt[n] = clock.now();
      longest = Math.max(longest, clock.now() - (servedAt[n] ?? 0));
    }
  }
  return longest;
}

test('whatever a relay answers, each query has a list or a watch within 30 s, and the node returns later each time', async () => {
  const slots = fc.array(fc.array(verbs, { minLength: 5, maxLength: 5 }), {
    minLength: 1,
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(slots, async (all) => {
      const simulation = await start(({ at, path, verb }) => {
        const slot = all[Math.floor(at / SLOT_MS) % all.length];
        return ANSWERS[slot?.[Number(path.at(-1))]?.[verb] ?? ''];
      });
      try {
        const longest = await longestUnserved(simulation, 600_000);
        expect(longest).toBeLessThanOrEqual(MOST_MS);
        // After 1, 2, 4, 8 minutes, and what was left of each minute before.
        expect(simulation.server.lefts.length).toBeLessThanOrEqual(6);
      } finally {
        await simulation.close();
      }
    }),
    { numRuns: propertyRuns(20) },
  );
}, 300_000);

test('a relay that serves again is used again, and not left for what the API server refuses too', async () => {
  let isWell = false;
  const simulation = await start(({ path }) =>
    isWell && !path.endsWith(`/things${ABSENT}`) ? undefined : refusal(404),
  );
  const { server } = simulation;
  expect(await longestUnserved(simulation, 120_000)).toBeLessThanOrEqual(MOST_MS);
  isWell = true;
  await simulation.pass(300_000);
  const lefts = server.lefts.length;
  expect(server.address).toBe('relay');
  await simulation.pass(900_000);
  expect([server.address, server.lefts.length, simulation.isRight]).toEqual([
    'relay',
    lefts,
    false,
  ]);
  expect(simulation.reflectors.map(({ status }) => status.connected)).toEqual(Array(5).fill(true));
  await simulation.close();
}, 120_000);

test('a query of other clients than kube-proxy never leaves a relay', async () => {
  const createServer = (options: ConstructorParameters<typeof RelayedServer>[0]) =>
    new RelayedServer(options);
  const simulation = new Simulation(sequence(3), 5, createServer, { forOthers: true });
  simulation.server.fault = () => refusal(429);
  await simulation.pass(120_000);
  expect(simulation.server.lefts).toHaveLength(0);
  await simulation.close();
});

describe('of a site that boots', () => {
  test('a first list may be slow for as long as relays are waited for', async () => {
    const simulation = await start(() => refusal(429), 70_000);
    await simulation.pass(68_000);
    expect(simulation.server.lefts).toHaveLength(0);
    await simulation.pass(4_000);
    expect(simulation.server.lefts).toHaveLength(1);
    await simulation.close();
  });

  test('what has been served may be missing for 30 s only', async () => {
    let isWell = true;
    const simulation = await start(() => (isWell ? undefined : refusal(429)), 70_000);
    await simulation.pass(10_000);
    isWell = false;
    simulation.server.cut();
    await simulation.pass(28_000);
    expect(simulation.server.lefts).toHaveLength(0);
    await simulation.pass(8_000);
    expect(simulation.server.lefts).toHaveLength(1);
    await simulation.close();
  });
});
