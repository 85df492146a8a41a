import type { WorldShape } from '../options.ts';

/** Worlds that differ in one of their sizes. */
export interface Curve {
  /** The size that differs. */
  readonly of: 'services' | 'endpoints' | 'nodes';
  readonly what: string;
  readonly worlds: readonly WorldShape[];
}

const USUAL: WorldShape = { services: 10_000, endpoints: 10, nodes: 100, sites: 10 };

/** So small that what is measured there is the constant part of all curves. */
export const ALMOST_EMPTY: WorldShape = { ...USUAL, services: 10 };

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

/** Two worlds: one curve has a slope, the others are but a point. */
const SMOKE: Sizes = {
  services: [10, 100],
  endpoints: [10],
  nodes: [100],
  usualServices: 100,
  nodesOfEndpoints: 100,
};

export function growthCurves(smoke: boolean): readonly Curve[] {
  const sizes = smoke ? SMOKE : FULL;
  const world = (shape: Partial<WorldShape>): WorldShape => ({
    ...USUAL,
    services: sizes.usualServices,
    ...shape,
  });
  const { usualServices, nodesOfEndpoints } = sizes;
  return [
    {
      of: 'services',
      what: `Services of one slice with ${USUAL.endpoints} endpoints; ${USUAL.nodes} nodes`,
      worlds: sizes.services.map((services) => world({ services })),
    },
    {
      of: 'endpoints',
      what: `endpoints in a slice; ${usualServices} Services, ${nodesOfEndpoints} nodes`,
      worlds: sizes.endpoints.map((endpoints) => world({ endpoints, nodes: nodesOfEndpoints })),
    },
    {
      of: 'nodes',
      what: `nodes in ${USUAL.sites} sites; ${usualServices} Services of one slice with ${USUAL.endpoints} endpoints`,
      worlds: sizes.nodes.map((nodes) => world({ nodes })),
    },
  ];
}
