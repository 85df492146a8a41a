import { beforeEach, describe, expect, test } from '@jest/globals';
import { ReflectorHealth } from '../../../src/client/reflector/reflector-health.ts';
import { WrapperError } from '../../../src/errors.ts';
import { LimitedLog } from '../../../src/util/limited-log.ts';
import { ManualClock } from '../../support/clocks.ts';
import { recordingLogger } from '../../support/recording-logger.ts';

let health: ReflectorHealth;
let clock: ManualClock;

beforeEach(() => {
  clock = new ManualClock();
  const log = new LimitedLog({ logger: recordingLogger().logger, clock });
  health = new ReflectorHealth(log, '/api/v1/services', clock);
});

const malformed = new WrapperError('Malformed', 'bad bytes');

describe('the objects', () => {
  test('become stale when a watch ends', () => {
    expect(health.status.staleMs).toBe(Number.POSITIVE_INFINITY);
    health.opened();
    clock.pass(5_000);
    health.closed();
    expect(health.status.staleMs).toBe(0);
    clock.pass(3_000);
    expect(health.status.staleMs).toBe(3_000);
  });

  test('are as old as the silence of a connection that is found dead, but not older than the last event', () => {
    const dead = new WrapperError('Unreachable', 'silent', { silentMs: 20_000 });
    health.opened();
    clock.pass(60_000);
    health.failed(dead);
    expect(health.status.staleMs).toBe(20_000);
    health.opened();
    health.current();
    clock.pass(5_000);
    health.failed(dead);
    expect(health.status.staleMs).toBe(5_000);
  });

  test('are not refreshed by suspect watches, but by any event or bookmark of these', () => {
    health.failed(malformed, { suspect: true });
    health.opened();
    expect(health.status.staleMs).toBe(0);
    health.closed();
    expect(health.status.staleMs).toBe(Number.POSITIVE_INFINITY);
    health.opened();
    health.current();
    health.closed();
    expect(health.status.staleMs).toBe(0);
  });
});
