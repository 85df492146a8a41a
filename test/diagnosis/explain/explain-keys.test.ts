import { describe, expect, test } from '@jest/globals';
import type { ProblemCode } from '../../../src/diagnosis/catalogue.ts';
import { explainKey, nodesOfKey, warnOfKey } from '../../../src/diagnosis/explain/explain-keys.ts';
import type { Topology } from '../../../src/topology/state/topology.ts';
import { PLAIN_TOPOLOGY } from '../../support/topology/plain-topology.ts';
import { managed, TopologyHarness } from '../../support/topology/topology-harness.ts';

const COMMUNITY = 'kube-proxy-wrapper.io/community';
const CLOUD = 'kube-proxy-wrapper.io/cloud';
const ZONE = 'topology.kubernetes.io/zone';
const IN_RED = { pool: 'red', ring: 'red' };

interface Scene {
  readonly key: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Members of node sets; a set that is not listed here does not sync. */
  readonly sets?: Readonly<Record<string, readonly string[]>>;
  readonly declared?: Readonly<Record<string, readonly string[]>>;
  /** The warning about the key; undefined: none. */
  readonly warning?: ProblemCode;
}

/** The topology of node `edge-1`, where `pool` and `ring` are labels of communities. */
function topologyOf({ key, labels = { site: 'a' }, sets = {}, declared = {} }: Scene): Topology {
  const communities = { nodeLabels: ['pool', 'ring'], labelPrefix: '', labelValues: [] };
  const topologyMatch = { ...PLAIN_TOPOLOGY.topologyMatch, communities };
  const harness = new TopologyHarness({ topologyMatch });
  const members = Object.entries(declared).map(([name, nodes]) => [name, new Set(nodes)] as const);
  harness.topology.setCommunities(new Map(members));
  harness.settle(labels, { 'shop/web': managed(key) });
  for (const [selector, nodes] of Object.entries(sets)) harness.sync(selector, ...nodes);
  return harness.topology;
}

describe('the nodes of a key', () => {
  test.each<[what: string, Scene, nodes: string[] | undefined]>([
    [
      'are those of its node set',
      { key: 'site', sets: { 'site=a': ['edge-1', 'near'] } },
      ['edge-1', 'near'],
    ],
    [
      'include this node if its node set does not have it',
      { key: 'site', sets: { 'site=a': ['near'] } },
      ['edge-1', 'near'],
    ],
    [
      'are this node only if its node set has no other node',
      { key: 'site', sets: { 'site=a': ['edge-1'] }, warning: 'no-other-node' },
      ['edge-1'],
    ],
    [
      'do not include this node if it does not match',
      {
        key: CLOUD,
        labels: { 'node-role.kubernetes.io/edge': '' },
        sets: { '!node-role.kubernetes.io/edge': ['far'] },
      },
      ['far'],
    ],
    [
      'are none if no node matches',
      {
        key: CLOUD,
        labels: { 'node-role.kubernetes.io/edge': '' },
        sets: { '!node-role.kubernetes.io/edge': [] },
        warning: 'key-without-nodes',
      },
      [],
    ],
    ['are none without the label', { key: 'rack', warning: 'own-label-missing' }, []],
    ['are none in no community', { key: COMMUNITY, warning: 'community-empty' }, []],
    ['are undefined until its node set is known', { key: 'site' }, undefined],
    [
      'are counted once, even if several node sets have them',
      {
        key: COMMUNITY,
        labels: IN_RED,
        sets: { 'pool=red': ['edge-1', 'near', 'far'], 'ring=red': ['near', 'other'] },
      },
      ['edge-1', 'far', 'near', 'other'],
    ],
    [
      'are undefined until all its node sets are known',
      { key: COMMUNITY, labels: IN_RED, sets: { 'pool=red': ['edge-1', 'near'] } },
      undefined,
    ],
    [
      'include declared members',
      {
        key: COMMUNITY,
        labels: { pool: 'red' },
        sets: { 'pool=red': ['edge-1', 'near'], 'ring=red': [] },
        declared: { red: ['near', 'declared'], blue: ['far'] },
      },
      ['declared', 'edge-1', 'near'],
    ],
  ])('%s', (_, scene, nodes) => {
    const topology = topologyOf(scene);
    const known = nodesOfKey(topology, scene.key);
    expect(known === undefined ? undefined : [...known].sort()).toEqual(nodes);
    expect(explainKey(topology, scene.key).nodes).toBe(nodes?.length);
    const codes = warnOfKey(topology, scene.key).map(({ code }) => code);
    expect(codes).toEqual(scene.warning === undefined ? [] : [scene.warning]);
  });

  test('are those that match now, at each call', () => {
    const topology = topologyOf({ key: 'site', sets: { 'site=a': ['edge-1', 'near'] } });
    expect(explainKey(topology, 'site').nodes).toBe(2);
    topology.nodeSets.get('site=a')?.change(['far', 'other'], ['near']);
    expect(explainKey(topology, 'site').nodes).toBe(3);
    expect(topology.nodeSets.get('site=a')?.members).toEqual(new Set(['edge-1', 'far', 'other']));
  });
});

describe('what a key means on this node', () => {
  test.each<[key: string, labels: Record<string, string>, meaning: string]>([
    ['*', {}, 'any endpoint'],
    ['kubernetes.io/hostname', {}, 'endpoints on this node'],
    [CLOUD, {}, 'nodes that are not edge nodes'],
    [ZONE, { [ZONE]: 'z1' }, `nodes with ${ZONE}=z1`],
    [ZONE, { [ZONE]: '' }, 'nothing: this node is in no zone'],
    ['site', { site: 'a' }, 'nodes with site=a'],
    ['site', { site: '' }, 'nodes with site='],
    ['rack', {}, 'nothing: this node has no label rack'],
    [COMMUNITY, {}, 'nothing: this node is in no community'],
    [COMMUNITY, { pool: 'red' }, 'nodes in community red'],
    [COMMUNITY, { pool: 'red', ring: 'blue' }, 'nodes in one of the communities blue, red'],
  ])('%s with the labels %j: %s', (key, labels, meaning) => {
    expect(explainKey(topologyOf({ key, labels }), key).meaning).toBe(meaning);
  });

  test.each([
    ['*', undefined],
    ['kubernetes.io/hostname', new Set(['edge-1'])],
  ])('%s does not depend on other nodes', (key, nodes) => {
    expect(nodesOfKey(topologyOf({ key }), key)).toEqual(nodes);
  });
});
