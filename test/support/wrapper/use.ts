import { afterAll, afterEach, beforeEach } from '@jest/globals';
import { recordWatch } from '../guarantees/watch-recorder.ts';
import { startTcpRelay } from '../http/tcp-relay.ts';
import { startTestAdmin } from './admin-fixture.ts';
import { createSmallCluster } from './small-cluster.ts';
import { startWrapper } from './wrapper-fixture.ts';

/*
 * What tests of a whole wrapper open. It is closed after the test, or after all tests if beforeAll() opened it; what was
 * opened last is closed first.
 */

interface Closable {
  close(): unknown;
}

const ofFile: Closable[] = [];
const ofTest: Closable[] = [];
let current = ofFile;

beforeEach(() => {
  current = ofTest;
});

afterEach(async () => {
  current = ofFile;
  await closeAll(ofTest);
});

afterAll(() => closeAll(ofFile));

async function closeAll(opened: Closable[]): Promise<void> {
  for (let last = opened.pop(); last !== undefined; last = opened.pop()) await last.close();
}

function closedLater<T extends Closable>(each: T): T {
  current.push(each);
  return each;
}

export function useCluster(...args: Parameters<typeof createSmallCluster>) {
  return closedLater(createSmallCluster(...args));
}

export async function useRelay(...args: Parameters<typeof startTcpRelay>) {
  return closedLater(await startTcpRelay(...args));
}

export async function useWrapper(...args: Parameters<typeof startWrapper>) {
  return closedLater(await startWrapper(...args));
}

export async function useAdmin(...args: Parameters<typeof startTestAdmin>) {
  return closedLater(await startTestAdmin(...args));
}

export async function useWatch(...args: Parameters<typeof recordWatch>) {
  return closedLater(await recordWatch(...args));
}
