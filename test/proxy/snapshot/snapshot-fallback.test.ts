import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type ErrorCode, WrapperError } from '../../../src/errors.ts';
import { SnapshotFallback } from '../../../src/proxy/snapshot/snapshot-fallback.ts';
import { ServerState } from '../../../src/proxy/upstream/server-state.ts';
import { captureLogger } from '../../support/http/logger.ts';

let serverState: ServerState;
let unreachable: number;
let searches: number;
let found: boolean;
let fallback: SnapshotFallback;

beforeEach(() => {
  jest.useFakeTimers();
  serverState = new ServerState({ logger: captureLogger().logger });
  [unreachable, searches, found] = [0, 0, false];
  fallback = createFallback();
});

afterEach(() => {
  fallback.end();
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

function createFallback(): SnapshotFallback {
  const search = async (): Promise<boolean> => {
    searches++;
    return found;
  };
  return new SnapshotFallback({
    ...{ serverState, search },
    graceMs: 1000,
    onUnreachable: () => unreachable++,
  });
}

function failure(code: ErrorCode, status?: number): WrapperError {
  if (status === undefined) return new WrapperError(code, 'x');
  return new WrapperError(code, 'x', { status: { code: status, reason: '', message: '' } });
}

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

describe('the API server is out of reach', () => {
  test('when it has accepted no connection for the grace time', async () => {
    fallback.listStarted();
    await pass(990);
    expect(unreachable).toBe(0);
    await pass(20);
    expect([searches, unreachable]).toEqual([1, 1]);
    expect(serverState.isGivenUp).toBe(true);
  });

  test.each([
    ['Unreachable', undefined],
    ['Credentials', undefined],
    ['Refused', 500],
    ['Refused', 429],
  ] as const)('when every attempt in the grace time failed with %s %s', async (code, status) => {
    for (let n = 0; n < 12; n++) {
      expect(unreachable).toBe(n > 9 ? 1 : 0);
      fallback.listStarted();
      await pass(1);
      fallback.failed(failure(code, status));
      await pass(100);
    }
    expect(unreachable).toBe(1);
  });

  test('when it has accepted a connection and sent nothing for 10 s', async () => {
    fallback.listStarted();
    serverState.noteContact();
    await pass(1010);
    // The search for another server begins sooner.
    expect(searches).toBe(1);
    await pass(8_890);
    expect(unreachable).toBe(0);
    await pass(200);
    expect(unreachable).toBe(1);
  });

  test('when a response has begun and no byte has come for 10 s', async () => {
    fallback.listStarted();
    for (let n = 0; n < 60; n++) {
      serverState.noteAnswer(200);
      await pass(900);
    }
    expect([searches, unreachable]).toEqual([0, 0]);
    await pass(9_000);
    expect(unreachable).toBe(0);
    await pass(200);
    expect(unreachable).toBe(1);
  });

  test('only after two searches, when the servers that were found fail as well', async () => {
    found = true;
    fallback.listStarted();
    await pass(1010);
    expect([searches, unreachable]).toEqual([1, 0]);
    for (let n = 0; n < 40; n++) {
      fallback.failed(failure('Unreachable'));
      await pass(100);
      fallback.listStarted();
    }
    expect([searches, unreachable]).toEqual([2, 1]);
  });

  test('not before the server that was found has been tried, however long that takes', async () => {
    found = true;
    fallback.listStarted();
    await pass(1010);
    expect(searches).toBe(1);
    // This is the failure of the server before.
    fallback.failed(failure('Unreachable'));
    await pass(60_000);
    expect([searches, unreachable]).toEqual([1, 0]);
  });

  test('not before, when the server was found between two attempts', async () => {
    found = true;
    fallback.listStarted();
    fallback.failed(failure('Unreachable'));
    await pass(60_000);
    expect([searches, unreachable]).toEqual([1, 0]);
  });

  test('after one search, whatever happens while it lasts', async () => {
    let end = (_found: boolean): void => {};
    const search = (): Promise<boolean> => {
      searches++;
      return new Promise((resolve) => {
        end = resolve;
      });
    };
    fallback = new SnapshotFallback({
      serverState,
      graceMs: 1000,
      search,
      onUnreachable: () => unreachable++,
    });
    fallback.listStarted();
    await pass(1010);
    fallback.failed(failure('Unreachable'));
    fallback.listStarted();
    await pass(5_000);
    expect([searches, unreachable]).toEqual([1, 0]);
    end(false);
    await pass(0);
    expect(unreachable).toBe(1);
  });

  test('for the next query after one failure, once the first has waited', async () => {
    serverState.giveUp();
    fallback.listStarted();
    expect(unreachable).toBe(0);
    fallback.failed(failure('Unreachable'));
    await pass(200);
    expect(unreachable).toBe(1);
  });
});

describe('the API server is reachable', () => {
  test.each([401, 403, 404, 410])('when it answers %i', async (code) => {
    for (let n = 0; n < 50; n++) {
      fallback.listStarted();
      fallback.failed(failure('Refused', code));
      await pass(1000);
    }
    expect(unreachable).toBe(0);
  });

  test('when it is behind the requested version', async () => {
    const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
    const status = { code: 504, reason: 'Timeout', message: '', causes };
    for (let n = 0; n < 50; n++) {
      fallback.listStarted();
      fallback.failed(new WrapperError('Refused', 'x', { status }));
      await pass(1000);
    }
    expect(unreachable).toBe(0);
  });

  test('when it sends unusable data', async () => {
    fallback.listStarted();
    fallback.failed(failure('Malformed'));
    await pass(60_000);
    expect(unreachable).toBe(0);
  });

  test('again for later queries, once it has answered any', async () => {
    serverState.giveUp();
    serverState.noteAnswer(200);
    expect([serverState.isGivenUp, serverState.answered]).toEqual([false, true]);
  });

  test('while a list arrives slowly, though other queries have given up', async () => {
    serverState.giveUp();
    fallback.listStarted();
    for (let n = 0; n < 5; n++) {
      await pass(n === 0 ? 100 : 900);
      serverState.noteContact();
    }
    expect([searches, unreachable]).toEqual([0, 0]);
  });

  test('when the list has arrived, whatever fails later', async () => {
    fallback.listStarted();
    fallback.failed(failure('Unreachable'));
    fallback.listStarted();
    fallback.end();
    expect(jest.getTimerCount()).toBe(0);
    await pass(60_000);
    fallback.failed(failure('Unreachable'));
    await pass(60_000);
    expect(unreachable).toBe(0);
  });
});
