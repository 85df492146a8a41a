import { expect, test } from '@jest/globals';
import { KeptClient } from '../real/faults/recovery/kept-client.ts';

// The client of the recovery suite notices a watch that is wrong.

const object = (name: string, version: number) => ({
  metadata: { name, namespace: 'default', resourceVersion: String(version) },
});

test.each([
  ['an event that follows', 'ADDED', object('b', 6), 0],
  ['an event of a version below the last one', 'MODIFIED', object('a', 4), 1],
  ['ADDED of an object that is there', 'ADDED', object('a', 6), 1],
  ['MODIFIED of an object that is not there', 'MODIFIED', object('b', 6), 1],
  ['DELETED of an object that is not there', 'DELETED', object('b', 6), 1],
] as const)('%s is a mistake or not', (_, type, changed, mistakes) => {
  const broken: string[] = [];
  const client = new KeptClient({
    changed: () => {},
    applied: () => {},
    broken: (what) => broken.push(what),
  });
  client.receive({ kind: 'list', version: '5', items: [object('a', 5)] });
  client.receive({ kind: 'event', type, object: changed });
  expect(broken).toHaveLength(mistakes);
});
