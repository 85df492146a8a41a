import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatDiff } from '../../cli/node/diff-text.ts';
import { formatExplained, formatSummaries } from '../../cli/node/explain-text.ts';
import { formatData } from '../../cli/output/format-output.ts';
import { formatProblemsOfServices } from '../../cli/output/format-problems.ts';
import { formatStatusLines } from '../../cli/output/status-text.ts';
import type { ClusterObjects } from '../../cli/simulate/cluster-objects.ts';
import { compare, formatDifferences } from '../../cli/simulate/compare.ts';
import { findingsOf } from '../../cli/simulate/findings.ts';
import { formatMatrix, formatService } from '../../cli/simulate/matrix.ts';
import { simulate } from '../../cli/simulate/simulation.ts';
import { formatServices } from '../../demo/table.ts';
import type { Explained } from '../../src/admin/explain/explained-service.ts';
import { nodeProxyOptions } from '../../src/config/node-proxy-options.ts';
import { loadSettings } from '../../src/config/settings.ts';
import { escapeJson, escapeUntrusted, printLine } from '../../src/text/untrusted-text.ts';
import { forbiddenIn, NASTY } from '../support/forbidden-text.ts';

const hostile = fc
  .array(fc.oneof(fc.constantFrom(...NASTY), fc.string({ unit: 'binary', maxLength: 5 })), {
    minLength: 1,
    maxLength: 4,
  })
  .map((parts) => parts.join(''));

/** Returns the untrusted text for a place of the output. */
type Write = (place: string) => string;

const policy = { managed: true, source: 'annotation', overrides: [] } as const;

const HEAD = { version: '1.0.0', data: { state: 'connected', ageSeconds: 0 } } as const;

function explained(write: Write): Explained {
  const [key, winner] = [write('key'), write('key')];
  return {
    ...HEAD,
    service: write('service'),
    node: write('node'),
    policy: {
      ...policy,
      keys: [key],
      preset: write('preset'),
      overrides: [{ source: 'default', keys: [write('other')] }],
    },
    outcome: { kind: 'undecided', text: write('text'), dryRun: false, waitsFor: [] },
    keys: [{ key, meaning: write('meaning'), matchesThisNode: true, nodes: 2 }],
    winners: [winner],
    ports: [
      {
        family: write('family'),
        port: write('port'),
        keys: [{ key, ready: 1, serving: 0, total: 1, needs: 1 }],
        winner,
        why: write('why'),
        next: write('next'),
      },
    ],
    omittedPorts: 3,
    endpoints: [
      {
        address: write('address'),
        node: write('node'),
        zone: write('zone'),
        state: 'ready',
        object: write('object'),
        kept: true,
        reason: write('reason'),
      },
    ],
    omitted: 1,
    changes: [],
    counts: { total: 2, kept: 1, ready: 1, leftOut: 1 },
    warnings: [{ code: 'invalid-policy', severity: 'warning', message: write('message') }],
    view: { query: write('query'), encoding: 'json', clients: 0 },
  };
}

function cluster(write: Write): ClusterObjects {
  const meta = { namespace: write('namespace'), uid: '', resourceVersion: '1' };
  const service = {
    ...meta,
    name: write('name'),
    annotations: new Map([['topologyKeys', '["site","*"]']]),
    labels: new Map(),
    ports: ['TCP/http', write('port')],
    type: 'ClusterIP',
    clusterIP: '10.0.0.1',
    ipFamilies: [],
  };
  const broken = {
    ...service,
    name: `${service.name}2`,
    annotations: new Map([['topologyKeys', write('annotation')]]),
  };
  const node = { ...meta, namespace: '', annotations: new Map() };
  const endpoint = { family: 'IPv4', node: write('node'), zone: write('zone'), state: 'ready' };
  return {
    nodes: [
      { ...node, name: write('node'), labels: new Map([['site', 'a']]) },
      { ...node, name: `${write('node')}2`, labels: new Map([['site', 'b']]) },
    ],
    services: [service, broken],
    namespaces: [],
    slices: [
      {
        ...meta,
        name: write('slice'),
        service: service.name,
        labels: new Map(),
        hinted: false,
        groups: [
          { ports: ['TCP/http'], numbers: [80], endpoints: [endpoint], addresses: [1] },
          { ports: [write('other')], numbers: [80], endpoints: [endpoint], addresses: [2] },
        ],
        addresses: [write('address'), '10.0.0.2'],
      },
    ],
    communities: [],
  } as unknown as ClusterObjects;
}

const settings = nodeProxyOptions(loadSettings({ nodeName: 'any' }, {}, undefined));
const PLAIN = { wide: false, headers: true };

const OUTPUTS: Readonly<Record<string, (write: Write) => string>> = {
  'explain of one Service': (write) => formatExplained(explained(write)),
  'explain of all': (write) =>
    formatSummaries(
      {
        ...HEAD,
        node: write('node'),
        view: { query: write('query'), encoding: 'json', clients: 0 },
        services: [
          {
            service: write('service'),
            outcome: 'filtered',
            dryRun: true,
            policy: write('policy'),
            keys: [],
            winners: [write('key'), write('key')],
            kept: 1,
            ready: 1,
            total: 2,
            warnings: [write('warning')],
          },
        ],
      },
      { wide: true, headers: true },
    ),
  diff: (write) =>
    formatDiff({
      service: write('service'),
      node: write('node'),
      view: { query: write('query'), encoding: 'json', clients: 0 },
      ...HEAD,
      objects: [true, false].map((shown) => ({
        kind: 'EndpointSlice',
        namespace: write('namespace'),
        name: write('name'),
        shown,
        patch: [{ op: 'add', path: write('path'), value: { [write('field')]: write('value') } }],
      })),
    }),
  status: (write) =>
    formatStatusLines([
      { id: 'rules', state: 'problem', text: write('text'), next: write('next') },
    ]),
  'the matrix of simulate': (write) => formatMatrix(simulate(cluster(write), settings), PLAIN),
  'simulate of one Service': (write) => {
    const simulation = simulate(cluster(write), settings);
    return simulation.services.map((each) => formatService(each, simulation.nodes, PLAIN)).join('');
  },
  'the findings of simulate': (write) =>
    formatProblemsOfServices(findingsOf(simulate(cluster(write), settings))),
  'the differences of simulate': (write) => {
    const simulation = simulate(cluster(write), settings);
    const { slices, ...others } = cluster(write);
    return formatDifferences(
      compare(simulation, simulate({ ...others, slices: [] }, settings)),
      PLAIN,
    );
  },
  'the table of the demo': (write) =>
    formatServices([
      {
        id: '',
        service: write('service'),
        keys: write('keys'),
        address: write('address'),
        state: write('state'),
        node: write('node'),
        shown: true,
        why: write('why'),
      },
    ]),
  'the message of an error': (write) => printLine(`kube-proxy-wrapper: ${write('message')}`),
};

describe('untrusted text forges no line and controls no terminal', () => {
  test.each(Object.entries(OUTPUTS))('in %s', (_, output) => {
    const benign = output((place) => place).split('\n').length;
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 1, maxLength: 6 }), (texts) => {
        // The same place always has the same text.
        const places = new Map<string, string>();
        const write = (place: string): string => {
          const text = places.get(place) ?? `${place}${texts[places.size % texts.length]}`;
          places.set(place, text);
          return text;
        };
        const text = output(write);
        expect(forbiddenIn(text)).toEqual([]);
        expect(text).not.toMatch(/\p{M}{4}/u);
        expect(text.split('\n')).toHaveLength(benign);
      }),
      { numRuns: 200 },
    );
  });
});

describe('escapeUntrusted()', () => {
  test('escapes each character by its code point', () => {
    expect(escapeUntrusted('a\n\u001b[0m\u202e\u{e0041}\ud800\u00a0é 日本 …', 100)).toBe(
      'a\\n\\u001b[0m\\u202e\\u{e0041}\\ud800\\u00a0é 日本 …',
    );
  });

  test('does not change plain text or backslashes, and escaping twice gives the same result', () => {
    expect(escapeUntrusted('kubernetes.io/hostname > "*" \\n', 100)).toBe(
      'kubernetes.io/hostname > "*" \\n',
    );
    fc.assert(
      fc.property(hostile, fc.integer({ min: 1, max: 50 }), (text, most) => {
        const once = escapeUntrusted(text, most);
        expect(once.length).toBeLessThanOrEqual(most);
        expect(escapeUntrusted(once, most)).toBe(once);
        expect(forbiddenIn(once)).toEqual([]);
      }),
    );
  });
});

describe('JSON and YAML for machines', () => {
  test.each(['json', 'yaml'] as const)(
    '%s has no hidden characters and the same value',
    (format) => {
      fc.assert(
        fc.property(hostile, (text) => {
          const value = { [text]: [text, 1], plain: true };
          const output = formatData(value, format);
          expect(forbiddenIn(output)).toEqual([]);
          if (format === 'json') expect(JSON.parse(output)).toEqual(value);
        }),
      );
    },
  );

  test('a line of the log remains one line with the same value', () => {
    fc.assert(
      fc.property(hostile, (msg) => {
        const line = escapeJson(`${JSON.stringify({ msg })}\n`);
        expect(forbiddenIn(line)).toEqual([]);
        expect(line.indexOf('\n')).toBe(line.length - 1);
        expect(JSON.parse(line)).toEqual({ msg });
      }),
    );
  });
});
