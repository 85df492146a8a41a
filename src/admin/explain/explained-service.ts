import { WrapperError } from '../../errors.ts';
import { explainedObject } from '../../filter/projection/explained-object.ts';
import { describeService } from '../../proxy/cluster/services-handler.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import type { Steps } from '../../topology/decide/steps.ts';
import { type ExplainLimits, explainService } from '../../topology/explain/explain-service.ts';
import type { PolicyOrigin, ServiceExplanation } from '../../topology/explain/explanation.ts';
import { policyOrigins } from '../../topology/explain/policy-origins.ts';
import { UNKNOWN_SERVICE } from '../../topology/policy/policy.ts';
import { TimeSlice } from '../time-slice.ts';
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
}

/** What an answer about one Service lists; the rest is counted. */
const LISTED: ExplainLimits = { endpoints: 1_000, ports: 200 };
/** In short: endpoints are only counted, and enough ports explained to warn of those in trouble. */
export const IN_SHORT: ExplainLimits = { endpoints: 0, ports: 200 };

/**
 * Explains a Service as the view shows it that kube-proxy reads. Throws `NotFound` for a Service that is not
 * known, `NotReady` when there is no view yet.
 */
export async function explainOne(
  proxy: NodeProxy,
  service: string,
  turn: TimeSlice = new TimeSlice(),
): Promise<Explained> {
  const view = explainedView(proxy);
  if (!view.source.view.started) throw notStarted(proxy);
  const known = proxy.topology.policies.wanted(service) !== UNKNOWN_SERVICE;
  const { objects } = view.projection.inspect(service);
  if (!known && objects.length === 0 && findService(proxy, service) === undefined) {
    const hint = proxy.policyResolver.settings.headless
      ? ''
      : '; headless ones only with headless: true';
    throw new WrapperError(
      'NotFound',
      `there is no Service ${service} that kube-proxy asks for${hint}`,
    );
  }
  const name = nameOf(proxy, view.source);
  return { ...(await turn.take(explainIn(proxy, view, service, LISTED))), view: name };
}

/** The steps of an explanation; it is of the moment at which the first one is taken. */
export function* explainIn(
  proxy: Pick<NodeProxy, 'topology' | 'views' | 'policyResolver'>,
  { source, projection }: ExplainedView,
  service: string,
  limits: ExplainLimits,
): Steps<ServiceExplanation> {
  const { objects, held, ageMs } = projection.inspect(service);
  const wallNow = Date.now();
  // The clock of the delays does not know the time of day; see proxy/system-clock.ts.
  const offset = wallNow - performance.now();
  const timeOf = (ms: number) => new Date(offset + ms);
  return yield* explainService({
    topology: proxy.topology,
    service,
    objects: objects.map((object) => explainedObject(source.view, object)),
    origins: originsOf(proxy, service),
    held,
    timeOf,
    since: ageMs === undefined ? undefined : new Date(wallNow - ageMs),
    limits,
  });
}

function originsOf(
  proxy: Pick<NodeProxy, 'views' | 'policyResolver'>,
  service: string,
): readonly PolicyOrigin[] {
  const found = findService(proxy, service);
  if (found === undefined) return [];
  const facts = found.source.view.codec.service(found.object);
  const { settings } = proxy.policyResolver;
  return policyOrigins(
    describeService(facts),
    settings,
    proxy.policyResolver.namespace(facts.namespace).keys,
  );
}

export function notStarted(proxy: NodeProxy): WrapperError {
  const waits = [...proxy.topology.nodeSets.values()].filter(
    ({ state, needed }) => needed && state === 'syncing',
  );
  const what =
    waits.length > 0
      ? `: waits for nodes with ${waits.map(({ selector }) => selector).join('; ')}`
      : '';
  return new WrapperError('NotReady', `the view is not complete yet${what}; see /readyz`);
}
