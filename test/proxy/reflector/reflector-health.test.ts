import { beforeEach, describe, expect, test } from '@jest/globals';
import { WrapperError } from '../../../src/errors.ts';
import { ReflectorHealth } from '../../../src/proxy/reflector/reflector-health.ts';
import { LimitedLog } from '../../../src/util/limited-log.ts';
import { ManualClock } from '../../support/projection/topology.ts';
import { type LogLine, recordingLogger } from '../../support/wrapper/wrapper-fixture.ts';

let health: ReflectorHealth;
let clock: ManualClock;
let lines: readonly LogLine[];

beforeEach(() => {
  const recorded = recordingLogger();
  lines = recorded.lines;
  clock = new ManualClock();
  const log = new LimitedLog({ logger: recorded.logger, clock });
  health = new ReflectorHealth(log, '/api/v1/services', clock);
});

const status = { code: 500, reason: '', message: '' };
const broken = new WrapperError('Refused', 'refused', { status });
const unreachable = new WrapperError('Unreachable', 'gone');
const malformed = new WrapperError('Malformed', 'bad bytes');
const messages = () => lines.map(({ msg }) => msg);

describe('a failure', () => {
  test('is logged once per cause, and its end once', () => {
    for (const error of [unreachable, unreachable, broken, broken]) health.failed(error);
    health.opened();
    expect(messages()).toEqual(['interrupted', 'interrupted', 'connected again']);
    expect(lines[0]).toMatchObject({ collection: '/api/v1/services', err: 'gone' });
    expect(health.status).toMatchObject({ connected: true, failures: 0, error: undefined });
  });

  test('that is logged elsewhere is only counted', () => {
    health.failed(unreachable, { isLogged: false });
    expect(health.status).toMatchObject({ failures: 1, error: unreachable });
    health.opened();
    expect(messages()).toEqual([]);
  });

  test('after which a watch proves nothing by opening lasts until a watch is of use', () => {
    health.opened();
    health.failed(malformed, { suspect: true });
    health.opened();
    expect(health.status).toMatchObject({ connected: true, failures: 1, error: malformed });
    health.progressed();
    expect(health.status).toMatchObject({ connected: true, failures: 0, error: undefined });
    expect(messages()).toEqual(['interrupted', 'connected again']);
  });
});

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
