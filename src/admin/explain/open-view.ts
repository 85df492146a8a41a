import type { ShownState } from '../../server/node-proxy.ts';
import { abortable } from '../../util/linked-abort-controller.ts';

/**
 * How long a request waits for its view, in milliseconds. Then it is answered with the reason why there is none, before
 * kubectl kpw gives up (5 s).
 */
const WAIT_MS = 2_000;

/**
 * Opens the views that the newest kube-proxy would read if no view of endpoints is open, so that a Service can be
 * explained before kube-proxy is pointed at the wrapper. Waits until they are complete, or cannot be. Rejects with the
 * reason of the signal.
 */
export async function openViewToExplain({ views }: ShownState, signal: AbortSignal): Promise<void> {
  if (views.kubeProxy.endpoints !== undefined) return;
  views.openDefault();
  const opened = [views.kubeProxy.endpoints, views.kubeProxy.services];
  const settled = opened.map(
    (source) => source && new Promise<void>((resolve) => source.view.whenSettled(resolve)),
  );
  const ended = AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)]);
  await abortable(Promise.all(settled), ended).catch(() => signal.throwIfAborted());
}
