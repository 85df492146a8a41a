import type { ServiceFacts } from '../../src/filter/codec/codec.ts';
import { SERVICE_NAME_LABEL } from '../../src/filter/objects/api-conventions.ts';
import { groupsOf } from '../../src/topology/decide/endpoint.ts';
import { HEADLESS_LABEL } from '../../src/topology/policy/service-reader.ts';
import type { SimulatedSlice } from './cluster-objects.ts';

/** Why kube-proxy does not get from the slices of a Service what its owner expects. */
export interface SliceProblem {
  readonly code:
    | 'slices-headless'
    | 'no-slices'
    | 'slice-without-label'
    | 'other-family'
    | 'imported-slices';
  readonly severity: 'warning' | 'info';
  readonly message: string;
  /** The slices. */
  readonly subjects: readonly string[];
}

/** The slices that a Service has, or is meant to have. */
export interface SlicesOfService {
  /** With its name in their label. */
  readonly all: readonly SimulatedSlice[];
  /** Those of them that kube-proxy reads. */
  readonly read: readonly SimulatedSlice[];
  /** Its name is that of the Service, and it has no label with the name of any Service. */
  readonly unlabelled: SimulatedSlice | undefined;
}

/**
 * @param isNode whether a Node of this name exists
 */
export function sliceProblemsOf(
  { selector, uid, clusterIP, ipFamilies }: ServiceFacts,
  { all, read, unlabelled }: SlicesOfService,
  isNode: (name: string) => boolean,
): SliceProblem[] {
  const problems: SliceProblem[] = [];
  if (all.length === 0 && selector && clusterIP !== 'None') {
    // A manifest that was never applied has no slices yet.
    const severity = uid === '' ? 'info' : 'warning';
    const message =
      'it has a selector and no EndpointSlice; kube-controller-manager writes one even if no Pod matches';
    problems.push({ code: 'no-slices', severity, message, subjects: [] });
  }
  if (all.length === 0 && unlabelled !== undefined) {
    const message = `an EndpointSlice of this name has no label ${SERVICE_NAME_LABEL}, so it belongs to no Service`;
    problems.push({ code: 'slice-without-label', severity: 'warning', message, subjects: [] });
  }
  const ignored = all.filter((slice) => !read.includes(slice) && slice.labels.has(HEADLESS_LABEL));
  if (ignored.length > 0) {
    const message = `kube-proxy does not read EndpointSlices with the label ${HEADLESS_LABEL}, although the Service is not headless (any more)`;
    const severity = read.length === 0 ? 'warning' : 'info';
    const subjects = ignored.map(({ name }) => name);
    problems.push({ code: 'slices-headless', severity, message, subjects });
  }
  const groups = groupsOf(read);
  const families = new Set(
    groups.flatMap(({ endpoints }) => endpoints.map(({ family }) => family)),
  );
  if (
    ipFamilies.length > 0 &&
    families.size > 0 &&
    !ipFamilies.some((each) => families.has(each))
  ) {
    const message = `the Service has ${ipFamilies.join(', ')} only, and no endpoint has an address of it, so connections fail`;
    problems.push({ code: 'other-family', severity: 'warning', message, subjects: [] });
  }
  const subjects = read.flatMap(({ name, sourceCluster, groups: own }) => {
    const nodes = own.flatMap(({ endpoints }) => endpoints.map(({ node }) => node));
    const shared = [...new Set(nodes)].filter(isNode);
    if (sourceCluster === undefined || shared.length === 0) return [];
    return [`${name} of ${sourceCluster} (${shared.join(', ')})`];
  });
  if (subjects.length > 0) {
    const message =
      'imported EndpointSlices name nodes that this cluster has too, so keys match endpoints of another cluster';
    problems.push({ code: 'imported-slices', severity: 'warning', message, subjects });
  }
  return problems;
}
