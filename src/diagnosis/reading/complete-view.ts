import { WrapperError } from '../../errors.ts';
import type { EndpointsSource } from '../../node/views/view-source.ts';
import type { ShownState } from '../../server/node-proxy.ts';
import { startWait } from './start-wait.ts';

/** The view of endpoints that kube-proxy reads; undefined: it is not complete yet. */
export function completeView({ views }: Pick<ShownState, 'views'>): EndpointsSource | undefined {
  const { endpoints } = views.kubeProxy;
  return endpoints?.view.started ? endpoints : undefined;
}

/** Why there is no view to explain, or none that is complete. A request for an explanation opens one. */
export function notReady(proxy: ShownState): WrapperError {
  const text =
    proxy.views.kubeProxy.endpoints === undefined
      ? 'no view of endpoints is open yet; try again'
      : `the view is not complete yet: it waits for ${startWait(proxy).what}; see /readyz`;
  return new WrapperError('NotReady', text);
}
