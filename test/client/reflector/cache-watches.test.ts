import { expect, test } from '@jest/globals';
import {
  event,
  list,
  object,
  type SimulatedAnswer,
} from '../../support/reflector/simulated-server.ts';
import { type Simulation, useSimulation } from '../../support/reflector/simulation.ts';

/*
 * How long a watch at a cache may hide what was deleted. The cache keeps what it has stored, begins each watch with
 * that, and never ends a watch. The clock is driven.
 */

/** A list that the cache has made from its own store. */
function storedList(version: number): SimulatedAnswer {
  const metadata = { resourceVersion: String(version), selfLink: '/x' };
  const body = { kind: 'ServiceList', metadata, items: [object(version)] };
  return { status: 200, body: { lines: [body], end: 'closed' } };
}

/** One reflector of a cache, which has known it as one, and has just listed. */
async function behindCache(listed: (version: number) => SimulatedAnswer): Promise<Simulation> {
  const simulation = await useSimulation(7, 1);
  const { server } = simulation;
  server.fault = ({ verb }) =>
    verb === 'list'
      ? listed(server.version)
      : verb === 'watch'
        ? { status: 200, body: { lines: [event('ADDED', server.version)], end: 'open' } }
        : undefined;
  server.cut();
  await simulation.pass(5_000);
  server.end();
  await simulation.pass(5_000);
  expect(server.listed.length).toBeGreaterThan(0);
  expect(simulation.isRight).toBe(true);
  server.listed.splice(0);
  return simulation;
}

test('after a list from the store, it lists again each 30 s until the API server has listed', async () => {
  let answer = storedList;
  const simulation = await behindCache((version) => answer(version));
  const { server } = simulation;
  await simulation.pass(61_000);
  expect(server.listed).toHaveLength(2);
  expect(simulation.isRight).toBe(true);
  answer = (version) => list(version + 1, []);
  await simulation.pass(31_000);
  expect(simulation.shown).toEqual(['']);
  server.listed.splice(0);
  await simulation.pass(290_000);
  expect(server.listed).toEqual([]);
});

test('a cache that ends no watch is listed again after 10 minutes, which is no failure', async () => {
  let answer: (version: number) => SimulatedAnswer = (version) => list(version, [object(version)]);
  const simulation = await behindCache((version) => answer(version));
  answer = (version) => list(version + 1, []);
  await simulation.pass(590_000);
  expect(simulation.server.listed).toEqual([]);
  await simulation.pass(20_000);
  expect(simulation.shown).toEqual(['']);
  expect(simulation.reflectors[0]?.status).toMatchObject({ connected: true, failures: 0 });
});
