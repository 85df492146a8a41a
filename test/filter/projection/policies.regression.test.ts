import { describe, test } from '@jest/globals';
import {
  CLOUD,
  COMMUNITY,
  HOST,
  type ModelCluster,
  type ModelService,
  type ModelSettings,
  type ModelSlice,
  OWN,
  ZONE,
} from '../../../harness/history/expected-view.ts';
import { DEFAULT_SETTINGS } from '../../../harness/history/history-view.ts';
import { play } from '../../support/policy/policy-history.ts';
import type { Step } from '../../support/policy/policy-steps.ts';

/** `play` checks each commit and each state of a history. */
const settings: ModelSettings = { ...DEFAULT_SETTINGS, edge: 'role' };
const empty: ModelCluster = {
  nodes: new Map<string, Record<string, string>>([
    [OWN, { role: 'edge', [ZONE]: 'z1' }],
    ['near', { role: 'edge', [ZONE]: 'z1' }],
    ['far', {}],
  ]),
  off: false,
  communities: new Map(),
  namespaces: new Map(),
  services: new Map(),
  slices: new Map(),
};

function service(keys: string[], labels: Record<string, string> = {}): ModelService {
  const annotations = { topologyKeys: JSON.stringify(keys) };
  const ports = ['TCP/a'];
  const plain = { local: undefined, hints: false, headless: false };
  return { annotations, labels, ...plain, ports, version: 1 };
}

function slice(node: string, zone = 'z1'): ModelSlice {
  const endpoints = [{ address: 1, node, zone, state: 'ready' as const }];
  return { service: 'default/web', family: 'IPv4', ports: ['TCP/a'], endpoints, version: 1 };
}

function put(changed: ModelService | undefined): Step {
  return { kind: 'services', changes: [{ key: 'default/web', service: changed }] };
}

function putSlices(...slices: [index: number, slice: ModelSlice | undefined][]): Step {
  const changes = slices.map(([index, each]) => ({ key: `default/web-${index}`, slice: each }));
  return { kind: 'slices', changes };
}

function replay(given: Partial<ModelSettings>, cluster: Partial<ModelCluster>, ...steps: Step[]) {
  const all: Step[] = [...steps, { kind: 'sync' }];
  play({ ...settings, ...given }, { ...empty, ...cluster }, all).checkLogs();
}

const web = (one: ModelService) => new Map([['default/web', one]]);

describe('a history that once failed', () => {
  // The own labels waited for the nodes of a community. Then no policy used communities any more, and the node set
  // was closed. Nothing was left to make the labels active, so no new view could start.
  test('own labels that wait for a node set become active when the policy that needs it is removed', () => {
    replay(
      {},
      { services: web(service([COMMUNITY])), slices: new Map([['default/web-0', slice('near')]]) },
      { kind: 'communities', changes: [{ name: 'red', members: [OWN] }] },
      put(service([HOST])),
    );
  });

  // The first slice without a zone made the topology notify in the middle of a batch. The part stored so far was
  // shown, including what the batch deletes.
  test('a batch in which an endpoint loses its zone is shown as a whole', () => {
    const far = { ...slice('far', 'z2'), family: 'IPv6' as const };
    replay(
      { passthrough: true },
      { services: web(service([CLOUD, '*'])) },
      { kind: 'sync' },
      putSlices([0, slice('far')], [0, slice(OWN, '')]),
      putSlices([0, undefined], [2, far], [1, slice('near')]),
    );
  });

  test('a batch that removes the last endpoint without a zone is shown as a whole', () => {
    replay(
      {},
      {
        services: web(service([ZONE, '*'])),
        slices: new Map([['default/web-0', slice('far', 'z2')]]),
      },
      putSlices([1, slice('near', '')]),
      putSlices([0, undefined], [1, slice('near')]),
    );
  });

  // Slices received the new policy first, and the hidden Service was shown in its old state.
  test.each([
    ['deleted', undefined],
    ['left to another proxy', service([CLOUD], { mesh: 'edge' })],
    ['moved to another policy', service([HOST])],
  ])('a withheld Service that is %s is not shown in between', (_what, then) => {
    replay(
      { passthrough: true, hides: 'labelled' },
      { services: web(service([CLOUD])), slices: new Map([['default/web-0', slice('far')]]) },
      put(then),
    );
  });

  // Its slices remained hidden until the cloud's nodes were known, but the Service was shown immediately.
  test('a Service that another proxy no longer serves is shown together with its slices', () => {
    replay(
      { passthrough: true, hides: 'labelled' },
      {
        services: web(service([HOST], { mesh: 'edge' })),
        slices: new Map([['default/web-0', slice('far')]]),
      },
      put(service([CLOUD])),
    );
  });

  // Nothing decided about the Service again, so its endpoint stayed in the zone.
  test.each([true, false])(
    'a Node that was relabelled leaves the zone once a node set is no longer refused, from the start: %s',
    (isRefused) => {
      const cluster: ModelCluster = {
        ...empty,
        slices: new Map([['default/web-0', slice('far')]]),
      };
      const services = web(service([ZONE]));
      const steps: Step[] = [put(service([ZONE])), { kind: 'refuse', which: 0 }, { kind: 'sync' }];
      const start = isRefused ? { ...cluster, services } : cluster;
      play(settings, start, [...(isRefused ? [] : steps), { kind: 'sync' }], isRefused).checkLogs();
    },
  );

  // A view of Services that was notified of the node after the view of slices missed Services that became withheld.
  test('a node that is switched off and on hides the same Services in every view', () => {
    replay(
      { passthrough: true },
      { services: web(service([CLOUD])), slices: new Map([['default/web-0', slice('far')]]) },
      { kind: 'off', off: true },
      { kind: 'off', off: false },
    );
  });
});
