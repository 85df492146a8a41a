import { describe, expect, test } from '@jest/globals';
import { parseLabelSelector } from '../../../src/topology/policy/label-selector.ts';
import {
  communitiesOf,
  isEdge,
  type NodeContext,
  sameNodeContext,
  type TopologyMatchSettings,
  topologyMatchOf,
} from '../../../src/topology/state/topology-match.ts';

const COMMUNITY = 'kube-proxy-wrapper.io/community';
const CLOUD = 'kube-proxy-wrapper.io/cloud';

const settings: TopologyMatchSettings = {
  communities: { nodeLabels: ['pool', 'x.io/group'], labelPrefix: 'c.x/', labelValues: ['unit'] },
  edge: parseLabelSelector('role in (edge,far),!lab'),
};

function from(
  labels: Record<string, string>,
  declared: Record<string, string[]> = {},
): NodeContext {
  const communities = Object.entries(declared).map(([k, v]) => [k, new Set(v)] as const);
  return {
    node: 'own',
    labels: new Map(Object.entries(labels)),
    off: false,
    declared: new Map(communities),
  };
}

function communities(labels: Record<string, string>, declared?: Record<string, string[]>) {
  const { self, selectors, nodes } = topologyMatchOf(COMMUNITY, from(labels, declared), settings);
  return { self, selectors: [...selectors].sort(), nodes: [...nodes].sort() };
}

describe('communitiesOf()', () => {
  test.each<[string, Record<string, string>, Record<string, string[]>, string[]]>([
    ['the value of a label', { pool: 'red', 'x.io/group': 'blue' }, {}, ['blue', 'red']],
    ['an empty value is none', { pool: '' }, {}, []],
    ['a label with the prefix', { 'c.x/red': 'true', 'c.x/blue': 'true' }, {}, ['blue', 'red']],
    ['a label with the prefix that is not true is none', { 'c.x/red': 'false' }, {}, []],
    ['a label that is true, but has not the prefix, is none', { 'd.x/red': 'true' }, {}, []],
    ['a key with the value', { red: 'unit', blue: 'other' }, {}, ['red']],
    ['a declaration that names this node', {}, { red: ['own'], blue: ['near'] }, ['red']],
    ['one community from two sources is one', { pool: 'red' }, { red: ['own'] }, ['red']],
  ])('%s', (_what, labels, declared, expected) => {
    expect(communitiesOf(from(labels, declared), settings.communities)).toEqual(expected);
  });

  test('without a prefix no label is one for being true', () => {
    const nodeContext = from({ pool: 'red', gpu: 'true' });
    expect(communitiesOf(nodeContext, { ...settings.communities, labelPrefix: '' })).toEqual([
      'red',
    ]);
  });
});

describe('the relation of communities', () => {
  test('asks every source for every own community, whichever source named it', () => {
    const selectors = ['c.x/red=true', 'pool=red', 'red=unit', 'x.io/group=red'];
    expect(communities({ pool: 'red' })).toEqual({ self: true, selectors, nodes: [] });
    expect(communities({ 'c.x/red': 'true' })).toEqual({ self: true, selectors, nodes: [] });
    expect(communities({ red: 'unit' })).toEqual({ self: true, selectors, nodes: [] });
    expect(communities({}, { red: ['own', 'near'] })).toEqual({
      self: true,
      selectors,
      nodes: ['near', 'own'],
    });
  });

  test('overlapping communities add up', () => {
    const { selectors, nodes } = communities(
      { pool: 'red', 'x.io/group': 'blue' },
      { red: ['a'], blue: ['b'], green: ['c'] },
    );
    expect(selectors).toContain('pool in (blue,red)');
    expect(selectors).toContain('x.io/group in (blue,red)');
    expect(nodes).toEqual(['a', 'b']);
  });

  test('a node in no community is related to none, not even itself', () => {
    expect(communities({ site: 'a' }, { red: ['near'] })).toEqual({
      self: false,
      selectors: [],
      nodes: [],
    });
  });

  test('a name that fits no label is asked of no label, but of its members', () => {
    const name = 'a name for no label';
    expect(communities({}, { [name]: ['own', 'near'] })).toEqual({
      self: true,
      selectors: [],
      nodes: ['near', 'own'],
    });
  });

  test('a name with a slash fits a key, but no value and no prefix', () => {
    expect(communities({ 'x.io/red': 'unit' }).selectors).toEqual(['x.io/red=unit']);
  });

  test('sources that are not set are not asked', () => {
    const none = { nodeLabels: [], labelPrefix: '', labelValues: [] };
    const nodeContext = from({ true: 'true' }, { red: ['own', 'near'] });
    const relation = topologyMatchOf(COMMUNITY, nodeContext, { ...settings, communities: none });
    expect(relation).toEqual({ self: true, selectors: [], nodes: new Set(['own', 'near']) });
  });
});

describe('the relation of the cloud', () => {
  test('is every node that is no edge node: one selector for each way not to be one', () => {
    const { self, selectors } = topologyMatchOf(CLOUD, from({ role: 'edge' }), settings);
    expect(self).toBe(false);
    expect(selectors).toEqual(['role notin (edge,far)', 'lab']);
    expect(topologyMatchOf(CLOUD, from({ role: 'edge', lab: '' }), settings).self).toBe(true);
  });

  test.each<[Record<string, string>, boolean]>([
    [{ role: 'edge' }, true],
    [{ role: 'core' }, false],
    [{}, false],
    [{ role: 'far', lab: 'x' }, false],
  ])('a node with %j is an edge node: %j', (labels, expected) => {
    expect(isEdge(from(labels), settings)).toBe(expected);
  });
});

describe('sameStandpoint()', () => {
  const one = from({ a: '1' });
  test.each<[string, NodeContext, boolean]>([
    ['equal labels', { ...one, labels: new Map([['a', '1']]) }, true],
    ['another value', { ...one, labels: new Map([['a', '2']]) }, false],
    ['one label less', { ...one, labels: new Map() }, false],
    ['another label', { ...one, labels: new Map([['b', '1']]) }, false],
    ['switched off', { ...one, off: true }, false],
    ['communities told anew', { ...one, declared: new Map() }, false],
  ])('%s', (_what, other, expected) => {
    expect(sameNodeContext(one, other)).toBe(expected);
  });

  test('none is never the same', () => {
    expect(sameNodeContext(undefined, one)).toBe(false);
  });
});
