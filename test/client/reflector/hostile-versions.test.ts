import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { propertyRuns } from '../../support/property-runs.ts';
import {
  event,
  list,
  object,
  refusal,
  type SimulatedAnswer,
} from '../../support/reflector/simulated-server.ts';
import { useSimulation } from '../../support/reflector/simulation.ts';

/*
 * Versions that a relay, or whatever answers in place of the API server, may send. One of 10^22 in a list was taken for
 * the newest: kube-apiserver refuses it with 400 or 500, and the node followed no change any more.
 */
const HUGE = [`1${'0'.repeat(22)}`, String(2n ** 63n), String(2n ** 63n - 1n), '999999999999'];
const versions = fc.oneof(
  fc.constantFrom(...HUGE, '0', '', 'x', '007'),
  fc.nat(9).map(String),
  fc.bigInt({ min: 2n ** 40n, max: 2n ** 64n }).map(String),
);

const bookmarkOf = (version: string) => ({
  type: 'BOOKMARK',
  object: { kind: 'Service', metadata: { resourceVersion: version } },
});

interface Lie {
  readonly kind: 'list' | 'event' | 'bookmark' | 'refusal';
  readonly version: string;
  readonly code: number;
}

const lies = fc.array(
  fc.record({
    kind: fc.constantFrom<Lie['kind']>('list', 'event', 'bookmark', 'refusal'),
    version: versions,
    code: fc.constantFrom(400, 410, 422),
  }),
  { minLength: 1, maxLength: 8 },
);

function answerOf({ kind, version, code }: Lie, isWatch: boolean, now: number): SimulatedAnswer {
  const number = version as unknown as number;
  if (kind === 'refusal') return refusal(code);
  if (!isWatch) return list(number, [object(now)]);
  const line = kind === 'event' ? event('MODIFIED', number) : bookmarkOf(version);
  return { status: 200, body: { lines: [line], end: 'reset' } };
}

test('whatever versions were sent, all is right within 30 s after the API server itself answers', async () => {
  await fc.assert(
    fc.asyncProperty(lies, fc.nat(1000), async (told, seed) => {
      const simulation = await useSimulation(1 + seed, 1);
      const { server } = simulation;
      let next = 0;
      server.fault = ({ verb }) => {
        const lie = told[next++];
        return lie && answerOf(lie, verb === 'watch', server.version);
      };
      server.cut();
      server.change();
      for (let n = 0; n < 40 && next < told.length; n++) await simulation.pass(1_000);
      server.fault = ({ version }) =>
        BigInt(/^[0-9]+$/.test(version ?? '') ? (version ?? 0) : 0) >= 2n ** 63n
          ? refusal(400)
          : undefined;
      await simulation.pass(2_000);
      // A silent watch ends by itself after 90 s.
      server.cut();
      server.change();
      expect(await simulation.untilRight(30_000)).toBeLessThan(30_000);
      await simulation.close();
    }),
    { numRuns: propertyRuns(40) },
  );
});

describe.each([400, 422])('after %d to a version', (code) => {
  test('the newest state is listed, and the version is never requested again', async () => {
    const simulation = await useSimulation(7, 1);
    const { server } = simulation;
    const refused = String(server.version);
    server.fault = ({ version }) => (version === refused ? refusal(code) : undefined);
    server.cut();
    server.change();
    await simulation.pass(20_000);
    const asked = server.requests.filter(({ version }) => version === refused);
    expect(asked.map(({ verb }) => verb)).toEqual(['watch']);
    expect(simulation.isRight).toBe(true);
  });
});
