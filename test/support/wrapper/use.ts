import { closedLater } from '../closed-later.ts';
import { recordWatch } from '../guarantees/watch-recorder.ts';
import { startTcpRelay } from '../http/tcp-relay.ts';
import { startTestAdmin } from './admin-fixture.ts';
import { createSmallCluster } from './small-cluster.ts';
import { startWrapper } from './wrapper-fixture.ts';

/* What tests of a whole wrapper open; see closedLater(). */

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
