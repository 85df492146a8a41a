import { describe, expect, test } from '@jest/globals';
import { parseLabelSelector } from '../../../src/topology/policy/label-selector.ts';
import {
  communitiesOf,
  type NodeContext,
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

test('communities come from labels, keys with the prefix, keys with the value, and declarations', () => {
  const labels = {
    pool: 'red',
    'x.io/group': '',
    'c.x/blue': 'true',
    'c.x/green': 'false',
    'd.x/brown': 'true',
    white: 'unit',
    black: 'other',
  };
  const nodeContext = from(labels, { red: ['own'], grey: ['own'], pink: ['near'] });
  const { communities } = settings;
  expect(communitiesOf(nodeContext, communities)).toEqual(['blue', 'grey', 'red', 'white']);
  const withoutPrefix = { ...communities, labelPrefix: '' };
  expect(communitiesOf(nodeContext, withoutPrefix)).toEqual(['grey', 'red', 'white']);
});

describe('the match of the community key', () => {
  test('has selectors of every source for every own community, whichever source has it', () => {
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

  test('a node without a community matches no node, not even itself', () => {
    expect(communities({ site: 'a' }, { red: ['near'] })).toEqual({
      self: false,
      selectors: [],
      nodes: [],
    });
  });

  test('a name that is not a valid label has no selector, only declared members', () => {
    const name = 'a name for no label';
    expect(communities({}, { [name]: ['own', 'near'] })).toEqual({
      self: true,
      selectors: [],
      nodes: ['near', 'own'],
    });
  });

  test('a name with a slash is valid as a key, but not as a value or with a prefix', () => {
    expect(communities({ 'x.io/red': 'unit' }).selectors).toEqual(['x.io/red=unit']);
  });

  test('sources that are not configured have no selectors', () => {
    const none = { nodeLabels: [], labelPrefix: '', labelValues: [] };
    const nodeContext = from({ true: 'true' }, { red: ['own', 'near'] });
    const match = topologyMatchOf(COMMUNITY, nodeContext, { ...settings, communities: none });
    expect(match).toEqual({ self: true, selectors: [], nodes: new Set(['own', 'near']) });
  });
});

describe('the match of the cloud key', () => {
  test('is every node that is not an edge node: one selector for each requirement that it may not meet', () => {
    const { self, selectors } = topologyMatchOf(CLOUD, from({ role: 'edge' }), settings);
    expect(self).toBe(false);
    expect(selectors).toEqual(['role notin (edge,far)', 'lab']);
    expect(topologyMatchOf(CLOUD, from({ role: 'edge', lab: '' }), settings).self).toBe(true);
  });
});
