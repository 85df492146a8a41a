import type { Labels, ModelEndpoint } from './expected-view.ts';

/** A change that a history makes. */
export type Change =
  | 'slice'
  | 'no slice'
  | 'endpoints'
  | 'node'
  | 'own node'
  | 'no node'
  | 'policy'
  | 'no service'
  | 'recreated service';

/** How an endpoint is, by its conditions. */
type State = Pick<ModelEndpoint, 'state' | 'terminating' | 'unknown'>;

/** What a history is made of. */
export interface HistoryShape {
  readonly namespaces: readonly string[];
  /** Names of the Services of each namespace; `local` and `headless` are what they are called. */
  readonly services: readonly string[];
  /** Slices of each Service; `c` is one of IPv6. */
  readonly letters: readonly string[];
  /** Values of the annotation; undefined: none. */
  readonly policies: readonly (string | undefined)[];
  /** Labels that the own node, and other nodes, can have. */
  readonly ownLabels: readonly Labels[];
  readonly otherLabels: readonly Labels[];
  readonly states: readonly State[];
  /** How often each change is made. */
  readonly weights: Partial<Readonly<Record<Change, number>>>;
  /**
   * A Service, as `namespace/name`, that keeps its policy, and has ready endpoints on each node: a relabel of any node
   * shows at once. Default: none.
   */
  readonly steady?: { readonly service: string; readonly policy: string };
  /** True: addresses say node and write, so a state that never was looks like no other. False: writes share them. */
  readonly freshAddresses: boolean;
}

const READY: State = { state: 'ready' };
const NOT_READY: State = { state: 'gone' };

const LABELS = {
  site: ['a', 'b', undefined],
  rack: ['r1', 'r2', undefined],
  'topology.kubernetes.io/zone': ['z1', 'z2', undefined],
} as const;

/** Each value of each label, with each of the others. */
const ALL_LABELS = Object.entries(LABELS).reduce<Labels[]>(
  (sets, [name, values]) =>
    sets.flatMap((set) =>
      values.map((value) => (value === undefined ? set : { ...set, [name]: value })),
    ),
  [{}],
);

/** For informers and kernels, which are compared with the model when all is quiet. */
export const WIDE_SHAPE: HistoryShape = {
  namespaces: ['one', 'two'],
  services: ['s0', 's1', 's2', 'local', 'headless'],
  letters: ['a', 'b', 'c'],
  policies: [
    undefined,
    '["kubernetes.io/hostname"]',
    '["kubernetes.io/hostname","*"]',
    '["kubernetes.io/hostname","rack","topology.kubernetes.io/zone"]',
    '["topology.kubernetes.io/zone"]',
    '["topology.kubernetes.io/zone","site","*"]',
    '["site"]',
    '["site","rack","*"]',
    '["rack","site"]',
    '["*"]',
    '["*","site"]',
    'site',
  ],
  ownLabels: ALL_LABELS,
  otherLabels: ALL_LABELS,
  states: [
    READY,
    READY,
    READY,
    { state: 'ready', unknown: true },
    NOT_READY,
    { state: 'serving' },
    { state: 'gone', terminating: true },
  ],
  weights: {
    slice: 35,
    'no slice': 5,
    endpoints: 12,
    node: 16,
    'own node': 9,
    'no node': 5,
    policy: 12,
    'no service': 6,
  },
  freshAddresses: false,
};

/** For a judge that tries all combinations of inputs at every moment: one label, so that there are few. */
export const NARROW_SHAPE: HistoryShape = {
  namespaces: ['default'],
  services: ['s0', 's1', 's2', 's3'],
  letters: ['a', 'b'],
  policies: [
    undefined,
    '["site"]',
    '["site","*"]',
    '["kubernetes.io/hostname"]',
    '["kubernetes.io/hostname","site"]',
    '["*"]',
  ],
  ownLabels: [{ site: 'a' }, { site: 'b' }],
  otherLabels: [{ site: 'a' }, { site: 'b' }, {}],
  states: [READY, READY, READY, NOT_READY],
  weights: { slice: 45, node: 20, 'own node': 7, policy: 20, 'recreated service': 8 },
  steady: { service: 'default/s0', policy: '["site"]' },
  freshAddresses: true,
};
