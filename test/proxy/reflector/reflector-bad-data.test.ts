import { expect, test } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import { scriptedReflectors } from '../../support/projection/scripted-reflector.ts';

/*
 * An unusable event at the start of each watch: the reflector watched again six times a second without end, each time
 * with a line in the log and without a list.
 */
const follow = scriptedReflectors();

const ended = (code: number) => ({
  type: 'ERROR',
  object: { kind: 'Status', status: 'Failure', code, reason: 'Broken', message: 'broken' },
});
const service = (name: string, resourceVersion: string) => ({
  type: 'ADDED',
  object: { kind: 'Service', metadata: { namespace: 'default', name, uid: name, resourceVersion } },
});

test('an error in each watch is one continued failure until a useful event comes', async () => {
  let event: object = ended(500);
  const { reflector, asked: sent, logged } = await follow({ event: () => event });
  await eventually(() => reflector.status.failures >= 1, true);
  const failedAt = performance.now();
  await eventually(() => reflector.status.failures >= 3, true);
  expect(reflector.status.error?.message).toContain('broken');
  expect(logged('interrupted')).toBe(1);
  expect(sent.lists).toBe(1);
  expect(reflector.status).toMatchObject({ connected: false });
  expect(reflector.status.staleMs).toBeGreaterThanOrEqual(performance.now() - failedAt);
  event = service('web', '11');
  await eventually(() => reflector.status.error, undefined);
  expect(reflector.status.failures).toBe(0);
  expect(logged('connected again')).toBe(1);
});

test.each([
  ['an object without a version', () => service('web', ''), 1000],
  ['one object more than allowed', () => service('web', '11'), 0],
])('%s leads to a list and is one continued failure', async (_name, event, maxObjects) => {
  const { reflector, asked: sent, logged } = await follow({ event, maxObjects });
  await eventually(() => sent.lists >= 2, true);
  expect(sent.watches).toBeGreaterThanOrEqual(2);
  await eventually(() => reflector.status.failures >= 3, true);
  expect(logged('interrupted')).toBe(1);
});
