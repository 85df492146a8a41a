import { startUrlFront } from '../../../harness/network/tcp-front.ts';
import { closedLater } from '../closed-later.ts';
import { recordWatch } from '../guarantees/watch-recorder.ts';
import { startTestAdmin } from './admin-fixture.ts';
import { createSmallCluster } from './small-cluster.ts';
import { startWrapper } from './wrapper-fixture.ts';

/* What tests of a whole wrapper open; see closedLater(). */

export function useCluster(...args: Parameters<typeof createSmallCluster>) {
  return closedLater(createSmallCluster(...args));
}

export async function useFront(...args: Parameters<typeof startUrlFront>) {
  return closedLater(await startUrlFront(...args));
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
