import { expect, test } from '@jest/globals';
import type { ReflectorContext } from '../../../src/client/reflector/reflector-options.ts';
import type { DecisionChange } from '../../../src/filter/projection/decision-journal.ts';
import { NodeListFinder } from '../../../src/node/own-watches/node-list-finder.ts';
import { NodeSetReflectors } from '../../../src/node/own-watches/node-set-reflectors.ts';
import { PolicyLog } from '../../../src/node/own-watches/policy-log.ts';
import { DecisionLog } from '../../../src/node/views/decision-log.ts';
import type { NodeSet } from '../../../src/topology/state/node-set.ts';
import { ManualClock } from '../../support/clocks.ts';
import { recordingLogger } from '../../support/recording-logger.ts';

/** What logs what tenants cause. The result writes a line about one Namespace, or one node set. */
const LOGS = {
  'invalid policies': (log, clock) => {
    const policies = new PolicyLog(log, clock);
    return (name) => policies.warn(name, { name }, 'a line');
  },
  'changed decisions': (log, clock) => {
    const decisions = new DecisionLog(log, clock);
    const change = { number: 1, at: 0, from: undefined, to: undefined };
    return (name) => {
      const cause = { kind: 'endpoints', subject: name } as const;
      decisions.add(log, { ...change, service: `${name}/web`, cause } satisfies DecisionChange);
    };
  },
  'names of Nodes': (log, clock) => {
    const context: Partial<ReflectorContext> = { logger: log };
    const request = () => Promise.reject(new Error('not asked'));
    const finder = new NodeListFinder(context as ReflectorContext, { request }, clock);
    return (name) => finder.onTooMany(name);
  },
  'node sets': (log, clock) => {
    const context: Partial<ReflectorContext> = { logger: log };
    const reflectors = new NodeSetReflectors(context as ReflectorContext, clock);
    return (name) => {
      const set: Partial<NodeSet> = {
        selector: `example.com/${name}=1`,
        state: 'overLimit',
        refusal: 'no room',
      };
      reflectors.onOverLimit(set as NodeSet);
    };
  },
} satisfies Record<
  string,
  (log: ReturnType<typeof recordingLogger>['logger'], clock: ManualClock) => (name: string) => void
>;

test.each(Object.entries(LOGS))('%s of 1,000 tenants at once are 100 lines', (_, open) => {
  const { logger, lines } = recordingLogger();
  const clock = new ManualClock();
  const write = open(logger, clock);
  for (let n = 0; n < 3_000; n++) write(`tenant-${n % 1_000}`);
  expect(lines).toHaveLength(100);
  clock.pass(3_000);
  expect(lines).toHaveLength(101);
  expect(lines.at(-1)).toMatchObject({ omitted: 2_899 });
});

test.each(Object.entries(LOGS))(
  '%s of one tenant, without end, leave a line for each other tenant',
  (_, open) => {
    const { logger, lines } = recordingLogger();
    const clock = new ManualClock();
    const write = open(logger, clock);
    for (let n = 0; n < 1_000; n++) write('noisy');
    const ofNoisy = lines.length;
    expect(ofNoisy).toBeLessThanOrEqual(10);
    for (const name of ['quiet', 'other']) write(name);
    expect(lines.slice(ofNoisy).map((line) => JSON.stringify(line))).toEqual([
      expect.stringContaining('quiet'),
      expect.stringContaining('other'),
    ]);
    clock.pass(60_000);
    expect(lines.at(-1)).toMatchObject({ omitted: expect.any(Number) });
  },
);
