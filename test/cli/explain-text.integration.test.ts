import { expect, test } from '@jest/globals';
import { formatExplained, formatSummaries } from '../../cli/node/explain-text.ts';
import type { Explained } from '../../src/admin/explain/explained-service.ts';
import type { ServiceSummary } from '../../src/admin/explain/service-summaries.ts';

const SHOWN: Explained = {
  version: '1.0.0',
  data: { state: 'connected', ageSeconds: 0 },
  service: 'default/web',
  node: 'edge-1',
  keys: [],
  changes: [],
  ports: [],
  endpoints: [],
  warnings: [],
  policy: { managed: true, source: 'annotation', keys: ['site'], overrides: [] },
  outcome: { kind: 'filtered', text: '', dryRun: true, waitsFor: [] },
  counts: { total: 3, kept: 1, ready: 1, leftOut: 2 },
  view: { query: '/apis', encoding: 'protobuf', clients: 1 },
  winners: [],
  omitted: 0,
  omittedPorts: 0,
};

function firstLine(outcome: Partial<Explained['outcome']>): string | undefined {
  return formatExplained({ ...SHOWN, outcome: { ...SHOWN.outcome, ...outcome } }).split('\n')[0];
}

test.each<[what: string, outcome: Partial<Explained['outcome']>, text: string]>([
  ['what the policy would show', {}, '1 of 3 endpoints would be (FILTERED)'],
  ['that the policy would show nothing', { kind: 'withheld' }, 'none would be (WITHHELD)'],
  ['that there is no decision yet', { kind: 'undecided', text: 'waits' }, 'UNDECIDED, waits'],
])('a dry run reports %s', (_, outcome, text) => {
  expect(firstLine(outcome)).toBe(
    `default/web on node edge-1: DRY RUN, all 3 endpoints are shown to kube-proxy; ${text}`,
  );
});

test('a list without headers says that the data is old all the same', () => {
  const data = { state: 'unreachable', ageSeconds: 75, warning: 'the data is 75 s old' } as const;
  const { version, node, view } = SHOWN;
  const service: ServiceSummary = {
    service: 'default/web',
    outcome: 'filtered',
    dryRun: true,
    policy: 'annotation',
    keys: ['site'],
    winners: ['site'],
    kept: 1,
    ready: 1,
    total: 3,
    warnings: [],
  };
  const list = { version, node, view, data, services: [service] };
  expect(formatSummaries(list, { headers: false, wide: false })).toBe(`\
! the data is 75 s old
default/web  filtered (dry run: would be 1/3)  annotation  site  3/3
`);
});

test('an explanation has all its parts', () => {
  const since = new Date(Date.now() - 600_000).toISOString();
  const at = { node: 'edge-1', zone: 'z', state: 'ready', object: 'web-1' } as const;
  const NONE = { ready: 0, serving: 0, total: 0 };
  const cause = { kind: 'nodes', subject: 'edge-2' } as const;
  const change = {
    number: 1,
    time: since,
    service: 'default/web',
    from: null,
    to: 'site',
    keptBefore: null,
    keptAfter: 1,
    cause,
  };
  const text = formatExplained({
    ...SHOWN,
    outcome: { ...SHOWN.outcome, dryRun: false },
    since,
    policy: {
      managed: true,
      source: 'annotation',
      keys: ['site', '*'],
      preset: 'near',
      overrides: [],
    },
    keys: [{ key: 'site', meaning: 'nodes with site=a', nodes: 2, matchesThisNode: true }],
    endpoints: [
      { ...at, address: '10.0.0.1', kept: true, reason: 'site matches' },
      { ...at, address: '10.0.0.2', node: '', zone: '', kept: false, reason: 'no node' },
    ],
    // A slice without ports.
    ports: [
      {
        family: 'IPv4',
        port: '',
        why: 'no key matches',
        keys: [{ key: 'site', ...NONE, needs: 2 }],
      },
    ],
    omitted: 1,
    omittedPorts: 2,
    changes: [change],
  });
  expect(text.replaceAll(since, '0123-56-89T12:45:78.012Z')).toBe(`\
default/web on node edge-1: FILTERED, 1 of 3 endpoints shown to kube-proxy, for 10 min

Policy: site > * (preset near)
  from annotation topologyKeys of the Service

Keys on this node:
  1.  site  nodes with site=a  2 nodes

IPv4 no port: no key wins (no key matches)
    KEY   READY   TERMINATING  TOTAL
    site  0 of 2  0            0

and 2 more ports

Endpoints (+ shown, - left out):
     ADDRESS   NODE    ZONE  STATE  OBJECT  WHY
  +  10.0.0.1  edge-1  z     ready  web-1   site matches
  -  10.0.0.2  (none)  -     ready  web-1   no node
  and 1 more

Last changes of the decision:
  TIME                      FROM  TO    KEPT     CAUSE
  0123-56-89T12:45:78.012Z  -     site  all > 1  nodes: edge-2

View: /apis (protobuf), read by 1 client
`);
});
