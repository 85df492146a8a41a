import { afterAll, afterEach, beforeEach } from '@jest/globals';

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

/**
 * Closes something after the test, or after all tests if beforeAll() or the module itself opened it. What was opened
 * last is closed first.
 */
export function closedLater<T extends Closable>(each: T): T {
  current.push(each);
  return each;
}

/** The same for what is stopped. */
export function stoppedLater<T extends { stop(): unknown }>(each: T): T {
  closedLater({ close: () => each.stop() });
  return each;
}
