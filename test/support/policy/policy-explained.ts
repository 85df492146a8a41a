import { isDeepStrictEqual } from 'node:util';
import { explainService } from '../../../src/diagnosis/explain/explain-service.ts';
import { explainedObject } from '../../../src/diagnosis/explain/explained-object.ts';
import type { View } from '../../../src/filter/view/view.ts';
import { decideService } from '../../../src/topology/state/decide-service.ts';
import type { Topology } from '../../../src/topology/state/topology.ts';
import type { HarnessViews } from './policy-harness.ts';

/**
 * Throws unless the stored outcome of each Service is that of a decision made now, and its explanation has the
 * endpoints that the view shows. A Service that waits for node sets shows an earlier state, and the explanation has
 * what is left of it. Looks up nothing, which a decision that was not made must have done.
 */
export function checkExplained(topology: Topology, views: HarnessViews): void {
  topology.lookUpNodes = () => undefined;
  try {
    checkServices(topology, views);
  } finally {
    Reflect.deleteProperty(topology, 'lookUpNodes');
  }
}

function checkServices(topology: Topology, { slices: view, projection }: HarnessViews): void {
  for (const service of projection.services()) {
    const { outcome, objects } = projection.inspect(service);
    if (outcome.dryRun) continue;
    const groups = objects.flatMap((object) => object.groups);
    const { outcome: fresh } = decideService(topology, service, groups);
    const { kind, total } = fresh;
    const isWaiting = kind === 'undecided';
    const expected = isWaiting ? { ...outcome, kind, total } : fresh;
    if (!isDeepStrictEqual(outcome, expected)) fail(service, outcome, expected);
    const { endpoints, counts } = explainService({
      topology,
      outcome,
      objects: objects.map((object) => explainedObject(view, object)),
      origins: [],
      hasSelector: false,
      since: undefined,
      limits: { endpoints: 1_000, ports: 200 },
    });
    const shown = objects.flatMap(({ key }) => shownIn(view, key)).sort();
    const kept = endpoints.filter((endpoint) => endpoint.kept);
    const explained = kept.map(({ object, address }) => `${object} ${address}`).sort();
    if (!isWaiting && !isDeepStrictEqual(explained, shown)) fail(service, explained, shown);
    if (explained.some((each) => !shown.includes(each))) fail(service, explained, shown);
    if (isWaiting) continue;
    const { leftOut: _, ...numbers } = counts;
    const stored = { total: outcome.total, kept: outcome.kept, ready: outcome.ready };
    if (!isDeepStrictEqual(numbers, stored)) fail(service, numbers, stored);
  }
}

/** `<object> <address>` of each endpoint that a view shows of an object. */
function shownIn(view: View, key: string): string[] {
  const object = view.get(key);
  if (object === undefined) return [];
  const groups = view.codec.endpointGroups(view.resource, object);
  const endpoints = groups.flatMap((group) => group.endpoints);
  const addresses = endpoints.flatMap((endpoint) => endpoint.addresses);
  return addresses.map((address) => `${key.slice(key.indexOf('/') + 1)} ${address}`);
}

function fail(service: string, seen: unknown, expected: unknown): never {
  throw new Error(`${service} has ${JSON.stringify(seen)}, not ${JSON.stringify(expected)}`);
}
