import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../eventually.ts';
import type { TcpRelay } from '../http/tcp-relay.ts';

/** Whether each view of a wrapper has a watch at the API server. */
export function connections({ views }: NodeProxy): boolean[] {
  return views.sources.map(({ status }) => status.connected);
}

/** Waits until every view has a watch. */
export async function connected(proxy: NodeProxy): Promise<void> {
  await eventually(() => connections(proxy).every(Boolean), true);
}

/** Cuts a wrapper off from its API server, and waits until no view has a watch. */
export async function lose(proxy: NodeProxy, relay: TcpRelay): Promise<void> {
  await relay.refuse();
  relay.cut();
  await eventually(() => connections(proxy).some(Boolean), false);
}
