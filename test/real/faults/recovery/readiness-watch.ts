import { BOUNDS, type Problem } from '../bounds.ts';
import type { FaultKind } from '../fault-kind.ts';
import type { WrapperUnderTest } from '../wrapper-under-test.ts';

const PROBE_MS = 500;

/** Notes when /readyz stopped to answer 200 in a fault. */
export function watchReadiness(wrapper: Pick<WrapperUnderTest, 'readyz'>): {
  faultEnded(): void;
  /** Stops; returns when it was first not ready, of performance.now(). */
  end(): number | undefined;
} {
  let unreadyAt: number | undefined;
  let isOver = false;
  const timer = setInterval(() => {
    if (isOver || unreadyAt !== undefined) return;
    void wrapper.readyz().then((status) => {
      if (status !== 200 && !isOver) unreadyAt ??= performance.now();
    });
  }, PROBE_MS);
  return {
    faultEnded: () => {
      isOver = true;
    },
    end: () => {
      clearInterval(timer);
      return unreadyAt;
    },
  };
}

/** Whether /readyz told in time that nothing came through, if the fault lasted long enough. */
export function judgeReadiness(
  { kinds }: { readonly kinds: readonly Pick<FaultKind, 'unreachable'>[] },
  times: {
    readonly struckAt: number;
    readonly endedAt: number;
    readonly unreadyAt: number | undefined;
    readonly protocol: 'h2' | 'http/1.1';
  },
): Problem[] {
  const bounds = kinds.flatMap(({ unreachable }) =>
    unreachable === undefined ? [] : [BOUNDS.unreadyMs[unreachable][times.protocol]],
  );
  const bound = Math.max(...bounds);
  if (bounds.length === 0 || times.endedAt - times.struckAt < bound + 2 * PROBE_MS) return [];
  const { unreadyAt, struckAt } = times;
  if (unreadyAt !== undefined && unreadyAt - struckAt <= bound) return [];
  const when = unreadyAt === undefined ? 'never' : `after ${Math.round(unreadyAt - struckAt)} ms`;
  return [{ check: 'readyz', what: `unready ${when}, allowed ${bound} ms` }];
}
