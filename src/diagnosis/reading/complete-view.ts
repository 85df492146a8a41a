import { WrapperError } from '../../errors.ts';
import type { EndpointsSource } from '../../node/views/view-source.ts';
import type { ShownState } from '../../server/node-proxy.ts';

/** The view of endpoints that kube-proxy reads; undefined: it is not complete yet. */
export function completeView({ views }: Pick<ShownState, 'views'>): EndpointsSource | undefined {
  const { endpoints } = views.kubeProxy;
  return endpoints?.view.started ? endpoints : undefined;
}

/** Why there is no view to explain, or none that is complete. A request for an explanation opens one. */
export function notReady({
  views,
  topology,
}: Pick<ShownState, 'views' | 'topology'>): WrapperError {
  if (views.kubeProxy.endpoints === undefined) {
    return new WrapperError('NotReady', 'no view of endpoints is open yet; try again');
  }
  const syncing = [...topology.nodeSets.values()].filter(
    ({ state, needed }) => needed && state === 'syncing',
  );
  const selectors = syncing.map(({ selector }) => selector).join('; ');
  const what = selectors === '' ? '' : `: it waits for the nodes with ${selectors}`;
  return new WrapperError('NotReady', `the view is not complete yet${what}; see /readyz`);
}
