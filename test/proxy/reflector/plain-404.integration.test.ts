import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { SimulatedAnswer } from '../../support/reflector/simulated-server.ts';
import { Simulation, sequence } from '../../support/reflector/simulation.ts';

/*
 * An API server answers 404 in plain text for a custom resource that is not defined, and so does an ingress controller
 * in its place for everything.
 */

const NOT_FOUND: SimulatedAnswer = {
  status: 404,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: { lines: ['404 page not found'], end: 'closed' },
};
const CUSTOM = '/apis/example.com/v1/things4';

let simulation: Simulation;
beforeEach(() => {
  simulation = new Simulation(sequence(3), 5, { group: 'example.com' });
});
afterEach(async () => simulation.close());

describe('404 in plain text', () => {
  test('to a custom resource alone means that it does not exist, from the start or later', async () => {
    const { server, lines, reflectors, shown } = simulation;
    server.fault = ({ path }) => (path === CUSTOM ? NOT_FOUND : undefined);
    await simulation.pass(5_000);
    expect(reflectors.map(({ status }) => status.synced)).toEqual(Array(5).fill(true));
    server.fault = () => undefined;
    await simulation.pass(10_000);
    expect(shown).toEqual(Array(5).fill('10'));
    server.fault = ({ path }) => (path === CUSTOM ? NOT_FOUND : undefined);
    server.cut();
    await simulation.pass(10_000);
    expect(shown).toEqual([...Array(4).fill('10'), '']);
    expect(server.serverState.condition.name).toBe('reachable');
    expect(lines.filter(({ level }) => level > 30)).toEqual([]);
  });

  test('to everything means that no API server answers, and removes nothing', async () => {
    const { server, shown } = simulation;
    await simulation.pass(5_000);
    server.fault = () => NOT_FOUND;
    server.cut();
    await simulation.pass(60_000);
    expect(server.serverState.condition.name).toBe('unreachable');
    expect(shown).toEqual(Array(5).fill('10'));
    server.fault = () => undefined;
    expect(await simulation.untilRight(60_000)).toBeLessThanOrEqual(5_000);
  });
});
