import type { ServiceDescription } from '../../../src/topology/policy/service-policy.ts';

export interface GivenService extends Partial<Omit<ServiceDescription, 'labels' | 'annotations'>> {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What a policy depends on of a Service, by default of `default/web` with a clusterIP and nothing else. */
export function describeService(given: GivenService = {}): ServiceDescription {
  const { labels = {}, annotations = {}, ...rest } = given;
  return {
    namespace: 'default',
    name: 'web',
    headless: false,
    internalLocal: false,
    externalLocal: false,
    ...rest,
    labels: new Map(Object.entries(labels)),
    annotations: new Map(Object.entries(annotations)),
  };
}
