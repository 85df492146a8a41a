import { HOLD, type TcpFault } from '../../../../harness/network/tcp-front.ts';
import { poll } from '../../../../harness/poll.ts';
import type { ActiveFault } from '../active-fault.ts';
import { BOUNDS } from '../bounds.ts';
import type { FaultKind, HistoryTarget } from '../fault-kind.ts';
import type { RelayUnderTest } from '../recovery/relays.ts';

/** What happens to a relay; resolves with what ends it. */
type Act = (relay: RelayUnderTest) => Promise<() => Promise<void> | void>;

/** How long a wrapper may take until it is back at a relay, in milliseconds. */
const BACK_MS = 20_000;

/** Of the relay in use, and of all: then only the API server itself is left. */
function rows(
  name: string,
  bypass: keyof typeof BOUNDS.bypassMs | undefined,
  act: Act,
  more: Partial<FaultKind> = {},
): FaultKind<HistoryTarget>[] {
  const row = (who: string, isHit: (at: number, inUse: number) => boolean) => ({
    room: 'relay' as const,
    name: `${who}: ${name}`,
    bypassMs: bypass && BOUNDS.bypassMs[bypass],
    ...more,
    strike: async ({ relays, wrapper }: HistoryTarget): Promise<ActiveFault> => {
      const find = async () => {
        const server = await wrapper.server();
        return relays.findIndex(({ address }) => address === server);
      };
      const found = poll(find, (at) => at >= 0, { timeoutMs: BACK_MS });
      const inUse = await found.then(
        ({ value }) => value,
        () => -1,
      );
      const hit = relays.filter((_, at) => isHit(at, inUse));
      const ends = await Promise.all(hit.map(act));
      return {
        hits: () => (inUse < 0 ? 0 : hit.length),
        end: async () => {
          for (const end of ends) await end();
        },
      };
    },
  });
  return [row('a relay', (at, inUse) => at === inUse), row('all relays', () => true)];
}

/** A fault of the way from a relay to the API server, which the wrapper itself reaches. */
function link(
  name: string,
  bypass: 'dead' | 'silent' | 'slow',
  fault: TcpFault,
  more: Partial<FaultKind> = {},
): FaultKind<HistoryTarget>[] {
  const act: Act = async (relay) => {
    const active = await relay.link.begin(fault);
    return () => active.end();
  };
  return rows(name, bypass, act, more);
}

const killed: Act = async (relay) => {
  await relay.stop('SIGKILL');
  return () => void relay.start();
};

/** Relays die, are replaced, lag, and lose the API server. */
export const relayFaults: readonly FaultKind<HistoryTarget>[] = [
  ...rows('killed, and started later', 'dead', killed),
  ...rows(
    'killed, and started again',
    'dead',
    async (relay) => {
      const start = await killed(relay);
      await start();
      return () => {};
    },
    { seconds: [0.1, 3] },
  ),
  ...rows(
    'SIGTERM and a new start',
    'dead',
    async (relay) => {
      await relay.stop('SIGTERM');
      relay.start();
      return () => {};
    },
    { seconds: [0.1, 3] },
  ),
  ...rows('taken out of its Service', 'dead', async (relay) => {
    await relay.list(false);
    return () => relay.list(true);
  }),
  // Its kernel answers: that it hangs shows only when a watch reaches its limit, or to its liveness probe.
  ...rows('frozen', undefined, async (relay) => {
    relay.signal('SIGSTOP');
    return () => relay.signal('SIGCONT');
  }),
  ...link('cannot reach the API server', 'silent', { kind: 'refuse' }),
  // Over HTTP/1.1 it shows only when a watch reaches its limit.
  ...link('nothing comes from the API server', 'silent', HOLD, { needs: 'http2' }),
  ...link('lags by 1 to 3 s', 'slow', { kind: 'delay', ms: [1_000, 3_000] }),
  ...link('bytes stop for 5 s, again and again', 'slow', { kind: 'stutter', ms: 5_000 }),
  ...link('2 KB a second', 'slow', { kind: 'slow', bytesPerSecond: 2_048 }),
  ...link('cut every 2 s', 'slow', { kind: 'reset', everyMs: 2_000 }),
];
