import { type Problem, problem } from '../../src/diagnosis/catalogue.ts';
import { MANAGED_BY_LABEL } from '../../src/diagnosis/explain/source-cluster.ts';
import type { ServiceFacts } from '../../src/filter/codec/codec.ts';
import { groupsOf } from '../../src/topology/decide/endpoint.ts';
import { HEADLESS_LABEL } from '../../src/topology/policy/service-reader.ts';
import type { SimulatedSlice } from './cluster-objects.ts';
import { MIRRORING_CONTROLLER } from './mirrored-endpoints.ts';

/** Why kube-proxy does not get from the slices of a Service what its owner expects, and which slices are concerned. */
export type SliceProblem = readonly [problem: Problem, slices?: readonly string[]];

/** The slices that a Service has, or is meant to have. */
export interface SlicesOfService {
  /** With its name in their label. */
  readonly all: readonly SimulatedSlice[];
  /** The slices among them that kube-proxy reads. */
  readonly read: readonly SimulatedSlice[];
  /** Its name is that of the Service, and it has no label with the name of any Service. */
  readonly unlabelled: SimulatedSlice | undefined;
}

/** Writes slices of Services with a selector. It does not touch those of the other controller. */
const CONTROLLER = 'endpointslice-controller.k8s.io';

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
    problems.push([problem('no-slices', '', uid === '' ? 'info' : 'warning')]);
  }
  if (all.length === 0 && unlabelled !== undefined) problems.push([problem('slice-without-label')]);
  const ignored = all.filter((slice) => !read.includes(slice) && slice.labels.has(HEADLESS_LABEL));
  if (ignored.length > 0) {
    const found = problem('slices-headless', '', read.length === 0 ? 'warning' : 'info');
    problems.push([found, ignored.map(({ name }) => name)]);
  }
  const writtenBy = (controller: string) =>
    read.filter(({ labels }) => labels.get(MANAGED_BY_LABEL) === controller);
  const ofControllers = [writtenBy(CONTROLLER), writtenBy(MIRRORING_CONTROLLER)];
  // One controller alone: a manifest may only lack its selector.
  if (ofControllers.every(({ length }) => length > 0)) {
    const left = ofControllers[selector ? 1 : 0] ?? [];
    problems.push([problem('slices-left'), left.map(({ name }) => name)]);
  }
  const endpoints = groupsOf(read).flatMap((group) => group.endpoints);
  const isUsed = ({ family }: { readonly family: string }) => ipFamilies.includes(family);
  if (ipFamilies.length > 0 && endpoints.length > 0 && !endpoints.some(isUsed)) {
    problems.push([problem('other-family')]);
  }
  const imported = read.flatMap(({ name, sourceCluster, groups }) => {
    const nodes = groups.flatMap((group) => group.endpoints.map(({ node }) => node));
    const shared = [...new Set(nodes)].filter(isNode);
    if (sourceCluster === undefined || shared.length === 0) return [];
    return [`${name} of ${sourceCluster} (${shared.join(', ')})`];
  });
  if (imported.length > 0) problems.push([problem('imported-slices'), imported]);
  return problems;
}
