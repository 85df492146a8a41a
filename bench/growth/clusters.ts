import type { ClusterShape } from '../options.ts';

/** Clusters that differ in one of their sizes. */
export interface Curve {
  /** The size that differs. */
  readonly of: 'services' | 'endpoints' | 'nodes';
  readonly what: string;
  readonly clusters: readonly ClusterShape[];
}

const USUAL: ClusterShape = { services: 10_000, endpoints: 10, nodes: 100, sites: 10 };

/** So small that what is measured there is the constant part of all curves. */
export const ALMOST_EMPTY: ClusterShape = { ...USUAL, services: 10 };

/** What a run goes through. */
interface Sizes {
  readonly services: readonly number[];
  readonly endpoints: readonly number[];
  readonly nodes: readonly number[];
  /** Services where it is not these that differ. */
  readonly usualServices: number;
  /**
   * Nodes where it is the endpoints that differ: more than endpoints in a slice. Else each node has one of
   * each Service, so that its own always win, and a relabelling changes nothing.
   */
  readonly nodesOfEndpoints: number;
}

const FULL: Sizes = {
  services: [1_000, 10_000, 50_000],
  endpoints: [1, 10, 100],
  nodes: [10, 100, 1_000, 5_000],
  usualServices: 10_000,
  nodesOfEndpoints: 1_000,
};

/** Two clusters: one curve has a slope, the others are but a point. */
const SMOKE: Sizes = {
  services: [10, 100],
  endpoints: [10],
  nodes: [100],
  usualServices: 100,
  nodesOfEndpoints: 100,
};

export function growthCurves(smoke: boolean): readonly Curve[] {
  const sizes = smoke ? SMOKE : FULL;
  const cluster = (shape: Partial<ClusterShape>): ClusterShape => ({
    ...USUAL,
    services: sizes.usualServices,
    ...shape,
  });
  const { usualServices, nodesOfEndpoints } = sizes;
  return [
    {
      of: 'services',
      what: `Services of one slice with ${USUAL.endpoints} endpoints; ${USUAL.nodes} nodes`,
      clusters: sizes.services.map((services) => cluster({ services })),
    },
    {
      of: 'endpoints',
      what: `endpoints in a slice; ${usualServices} Services, ${nodesOfEndpoints} nodes`,
      clusters: sizes.endpoints.map((endpoints) => cluster({ endpoints, nodes: nodesOfEndpoints })),
    },
    {
      of: 'nodes',
      what: `nodes in ${USUAL.sites} sites; ${usualServices} Services of one slice with ${USUAL.endpoints} endpoints`,
      clusters: sizes.nodes.map((nodes) => cluster({ nodes })),
    },
  ];
}
