import { WrapperError } from '../../errors.ts';
import { explainedObject } from '../../filter/explained-object.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import { describeService } from '../../proxy/services-feed.ts';
import { explainService } from '../../topology/explain-service.ts';
import type { PolicyOrigin, ServiceExplanation } from '../../topology/explanation.ts';
import { UNKNOWN_SERVICE } from '../../topology/policy.ts';
import { policyOrigins } from '../../topology/policy-origins.ts';
import {
  type ExplainedView,
  explainedView,
  findService,
  nameOf,
  type ViewName,
} from './explained-view.ts';

/** The answer of /explain/<namespace>/<name>. */
export interface Explained extends ServiceExplanation {
  /** The view that it is about. */
  readonly view: ViewName;
  /** Endpoints that are explained but not listed, for there are too many; those that are kept are listed first. */
  readonly omitted: number;
}

/** More endpoints of a Service than this are counted, but not listed. */
export const MAX_ENDPOINTS = 1_000;

/**
 * Explains a Service as the view shows it that kube-proxy reads. Throws `NotFound` for a Service that is not
 * known, `NotReady` when there is no view yet.
 */
export function explainOne(proxy: NodeProxy, service: string): Explained {
  const view = explainedView(proxy);
  if (!view.source.view.started) throw notStarted(proxy);
  const known = proxy.world.policies.wanted(service) !== UNKNOWN_SERVICE;
  const { objects } = view.projection.inspect(service);
  if (!known && objects.length === 0 && findService(proxy, service) === undefined) {
    const hint = proxy.book.settings.headless ? '' : '; headless ones only with headless: true';
    throw new WrapperError(
      'NotFound',
      `there is no Service ${service} that kube-proxy asks for${hint}`,
    );
  }
  const explanation = explainIn(proxy, view, service, true);
  // What matters most is listed, whatever comes first in the objects.
  const keptFirst = explanation.endpoints.toSorted((a, b) => Number(b.kept) - Number(a.kept));
  const endpoints = keptFirst.slice(0, MAX_ENDPOINTS);
  return {
    ...explanation,
    endpoints,
    view: nameOf(proxy, view.source),
    omitted: explanation.endpoints.length - endpoints.length,
  };
}

/** @param withAddresses whether the addresses are read from the objects, which takes longer */
export function explainIn(
  proxy: Pick<NodeProxy, 'world' | 'views' | 'book'>,
  { source, projection }: ExplainedView,
  service: string,
  withAddresses: boolean,
): ServiceExplanation {
  const { objects, held, ageMs } = projection.inspect(service);
  const wallNow = Date.now();
  // The clock of the delays does not know the time of day; see proxy/system-clock.ts.
  const timeOf = (ms: number) => new Date(wallNow + ms - performance.now());
  return explainService({
    world: proxy.world,
    service,
    objects: objects.map((object) => explainedObject(source.view, object, withAddresses)),
    origins: originsOf(proxy, service),
    held,
    timeOf,
    since: ageMs === undefined ? undefined : new Date(wallNow - ageMs),
  });
}

function originsOf(
  proxy: Pick<NodeProxy, 'views' | 'book'>,
  service: string,
): readonly PolicyOrigin[] {
  const found = findService(proxy, service);
  if (found === undefined) return [];
  const facts = found.source.view.codec.service(found.object);
  const { settings } = proxy.book;
  return policyOrigins(
    describeService(facts),
    settings,
    proxy.book.namespace(facts.namespace).keys,
  );
}

export function notStarted(proxy: NodeProxy): WrapperError {
  const waits = [...proxy.world.nodeSets.values()].filter(
    ({ state, needed }) => needed && state === 'syncing',
  );
  const what =
    waits.length > 0
      ? `: waits for nodes with ${waits.map(({ selector }) => selector).join('; ')}`
      : '';
  return new WrapperError('NotReady', `the view is not complete yet${what}; see /readyz`);
}
