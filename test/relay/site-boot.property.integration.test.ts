import { setTimeout as delay } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { chooseSeed } from '../../harness/random.ts';
import { propertyRuns } from '../support/property-runs.ts';
import { BootingSite, PARTS, type Part } from '../support/relay/booting-site.ts';

/** One boot of a whole site, until the power goes again. */
interface Boot {
  readonly order: readonly Part[];
  /** What happens after each part has got power. */
  readonly steps: readonly Step[];
  /** How long nodes that have something to show wait for relays, in milliseconds. */
  readonly patienceMs: number;
  /** A node whose disk was replaced. */
  readonly replaced: number | undefined;
  /** Whether the link is lost once when all have power. */
  readonly losesLink: boolean;
}

interface Step {
  readonly changes: boolean;
  /** Waits until each node that runs shows what its disk had. */
  readonly waits: boolean;
  readonly pauseMs: number;
}

/** Longer than any boot. */
const PATIENT_MS = 600_000;
const IMPATIENT_MS = 100;
/** Histories besides the example. */
const SITE_RUNS = Number(process.env.SITE_RUNS ?? propertyRuns(6));

jest.setTimeout(Math.max(180_000, SITE_RUNS * 60_000));

const step = fc.record({
  changes: fc.boolean(),
  waits: fc.constantFrom(false, false, true),
  pauseMs: fc.constantFrom(0, 0, 20, 200),
});
const boot: fc.Arbitrary<Boot> = fc.record({
  order: fc.shuffledSubarray([...PARTS], { minLength: PARTS.length }),
  steps: fc.array(step, { minLength: PARTS.length, maxLength: PARTS.length }),
  patienceMs: fc.constantFrom(PATIENT_MS, PATIENT_MS, IMPATIENT_MS),
  replaced: fc.option(fc.nat(2), { nil: undefined, freq: 3 }),
  losesLink: fc.boolean(),
});
/** The power goes again after some parts have it. */
const brokenBoot = fc.tuple(boot, fc.nat(PARTS.length)).map(([each, parts]): Boot => {
  return { ...each, order: each.order.slice(0, parts) };
});

/** Nodes could list from the API server, and have time to. */
const RELAYS_LAST: Boot = {
  order: ['link', 'node 0', 'node 1', 'node 2', 'relay 0', 'relay 1'],
  steps: PARTS.map(() => ({ changes: true, waits: true, pauseMs: 0 })),
  patienceMs: PATIENT_MS,
  replaced: undefined,
  losesLink: false,
};

/** What happens, and which bound of lists is exceeded. */
async function play(site: BootingSite, boot: Boot): Promise<string[]> {
  const { order, steps, patienceMs, replaced, losesLink } = boot;
  if (replaced !== undefined) site.nodes[replaced]?.loseDisk();
  for (const [at, part] of order.entries()) {
    await site.turnOn(part, patienceMs);
    const { changes = false, waits = false, pauseMs = 0 } = steps[at] ?? {};
    if (changes) site.change();
    if (waits) await site.untilServed();
    await delay(pauseMs);
  }
  const isWhole = order.length === PARTS.length;
  if (isWhole && losesLink) {
    await site.linkGoes();
    await delay(steps[0]?.pauseMs);
    site.change();
    await site.linkComes();
  }
  if (isWhole) await site.untilWell();
  return site.tooManyLists(patienceMs === PATIENT_MS, isWhole && losesLink ? 1 : 0);
}

/** What was left well by the last history; undefined: none. */
let well: BootingSite | undefined;

test('whatever the order in which a site boots, and however often, no node goes back, and each relay lists once', async () => {
  const history = fc.asyncProperty(
    fc.array(brokenBoot, { maxLength: 2 }),
    boot,
    async (broken, last) => {
      const site = well ?? (await BootingSite.start());
      well = undefined;
      try {
        for (const each of [...broken, last]) {
          await site.cutPower();
          site.change();
          expect(await play(site, each)).toEqual([]);
          expect(site.found).toEqual([]);
        }
        well = site;
      } finally {
        if (well === undefined) await site.cutPower();
      }
    },
  );
  const numRuns = SITE_RUNS + 1;
  const seed = chooseSeed() | 0;
  await fc.assert(history, { seed, numRuns, examples: [[[], RELAYS_LAST]], endOnFailure: true });
  await well?.cutPower();
});
