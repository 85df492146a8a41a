import type { ExplainLimits } from '../../diagnosis/explain/explain-input.ts';
import { explainService } from '../../diagnosis/explain/explain-service.ts';
import { explainedObject } from '../../diagnosis/explain/explained-object.ts';
import type { PolicyOrigin, ServiceExplanation } from '../../diagnosis/explain/explanation.ts';
import { policyOrigins } from '../../diagnosis/explain/policy-origins.ts';
import { WrapperError } from '../../errors.ts';
import type { CorrectedEndpoint } from '../../node/local-runtime/corrector.ts';
import { describeService } from '../../node/own-watches/services-handler.ts';
import type { EndpointsSource } from '../../node/views/view-source.ts';
import type { ShownState } from '../../server/node-proxy.ts';
import { UNKNOWN_SERVICE } from '../../topology/policy/policy.ts';
import { type DecisionRecord, lastChanges } from './decisions.ts';
import { findService, requireCompleteView, type ViewHead, viewHead } from './explained-view.ts';
import { similarService } from './similar-service.ts';

/** The response of /explain/<namespace>/<name>. */
export interface Explained extends ServiceExplanation, ViewHead {
  /** The last changes of the decision, the newest first. */
  readonly changes: readonly DecisionRecord[];
  /** Endpoints that were corrected from the container runtime; absent: none. */
  readonly corrected?: readonly CorrectedEndpoint[];
}

/** Items that a response about one Service lists. The others are only counted. */
const LISTED: ExplainLimits = { endpoints: 1_000, ports: 200 };
/** Changes that a response about one Service lists. */
const MAX_CHANGES = 5;
/** Limits of a summary: endpoints are only counted, and enough ports are explained to find all warnings. */
export const IN_SHORT: ExplainLimits = { endpoints: 0, ports: 200 };

/**
 * Explains a Service in the view that kube-proxy reads. Throws `NotFound` for an unknown Service, and `NotReady` if
 * there is no view yet.
 */
export function explainOne(proxy: ShownState, service: string): Explained {
  const view = viewOfService(proxy, service);
  const corrected = view.corrector?.corrections(LISTED.endpoints, service) ?? [];
  return {
    ...explainIn(proxy, view, service, LISTED),
    ...viewHead(proxy, view),
    changes: lastChanges(view, service, MAX_CHANGES),
    corrected: corrected.length === 0 ? undefined : corrected,
  };
}

/** Throws `NotReady` if the view is not complete, and `NotFound` for a Service that neither it nor a policy knows. */
export function viewOfService(proxy: ShownState, service: string): EndpointsSource {
  const view = requireCompleteView(proxy);
  const known = proxy.topology.policies.pendingOrActive(service) !== UNKNOWN_SERVICE;
  const { objects } = view.projection.inspect(service);
  if (!known && objects.length === 0 && findService(proxy, service) === undefined) {
    const hint = proxy.policyResolver.settings.headless
      ? ''
      : '; headless Services need the setting headless: true';
    const meant = similarService(service, proxy.topology.policies.services());
    const what = `there is no Service ${service} that kube-proxy watches${hint}`;
    throw new WrapperError('NotFound', meant === '' ? what : `${what}.${meant}`);
  }
  return view;
}

export function explainIn(
  proxy: Pick<ShownState, 'topology' | 'views' | 'policyResolver'>,
  { view, projection }: EndpointsSource,
  service: string,
  limits: ExplainLimits,
): ServiceExplanation {
  const { outcome, objects, isUnlabelled, ageMs } = projection.inspect(service);
  const since = ageMs === undefined ? undefined : new Date(Date.now() - ageMs);
  return explainService({
    topology: proxy.topology,
    outcome,
    objects: objects.map((object) => explainedObject(view, object)),
    isUnlabelled,
    ...aboutService(proxy, service),
    since,
    limits,
  });
}

function aboutService(
  proxy: Pick<ShownState, 'views' | 'policyResolver'>,
  service: string,
): { readonly origins: readonly PolicyOrigin[]; readonly hasSelector: boolean } {
  const found = findService(proxy, service);
  if (found === undefined) return { origins: [], hasSelector: false };
  const facts = found.source.view.codec.service(found.object);
  const { settings } = proxy.policyResolver;
  const origins = policyOrigins(
    describeService(facts),
    settings,
    proxy.policyResolver.namespace(facts.namespace).keys,
  );
  return { origins, hasSelector: facts.selector };
}
