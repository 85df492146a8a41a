import type { ActiveTcpFault, TcpFront } from '../../../harness/network/tcp-front.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../eventually.ts';

/** Whether each view of a wrapper has a watch at the API server. */
export function connections({ views }: NodeProxy): boolean[] {
  return views.sources.map(({ status }) => status.connected);
}

/** Waits until every view has a watch. */
export async function connected(proxy: NodeProxy): Promise<void> {
  await eventually(() => connections(proxy).every(Boolean), true);
}

/** Cuts a wrapper off from its API server, and waits until no view has a watch. */
export async function lose(proxy: NodeProxy, front: TcpFront): Promise<ActiveTcpFault> {
  const outage = await front.begin({ kind: 'refuse' });
  await eventually(() => connections(proxy).some(Boolean), false);
  return outage;
}
