import { setTimeout as delay } from 'node:timers/promises';
import type { View } from '../../filter/view/view.ts';
import type { ShownState } from '../../proxy/node-proxy.ts';

/** How long a request waits for its view, in milliseconds. Then it is answered with the reason why there is none. */
const WAIT_MS = 5_000;

/**
 * Opens the views that the newest kube-proxy would read if no view of endpoints is open, so that a Service can be
 * explained before kube-proxy is pointed at the wrapper. Waits until they are complete, or cannot be. Rejects with the
 * reason of the signal.
 */
export async function openViewToExplain(proxy: ShownState, signal?: AbortSignal): Promise<void> {
  if (proxy.views.kubeProxy.endpoints !== undefined) return;
  proxy.views.openDefault();
  const opened = [proxy.views.kubeProxy.endpoints, proxy.views.kubeProxy.services];
  const settled = opened.map((source) => source && untilSettled(source.view));
  const stop = new AbortController();
  const ended = AbortSignal.any([stop.signal, ...(signal === undefined ? [] : [signal])]);
  const timeout = delay(WAIT_MS, undefined, { signal: ended }).catch(() => undefined);
  await Promise.race([Promise.all(settled), timeout]);
  stop.abort();
  signal?.throwIfAborted();
}

async function untilSettled(view: View): Promise<void> {
  if (view.started) return;
  await new Promise<void>((resolve) => {
    view.whenSettled(resolve);
  });
}
