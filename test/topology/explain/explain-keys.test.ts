import { describe, expect, test } from '@jest/globals';
import { explainKey, nodesOfKey, warnOfKey } from '../../../src/topology/explain/explain-keys.ts';
import type { Warning } from '../../../src/topology/explain/explanation.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { PLAIN_TOPOLOGY } from '../../support/projection/topology.ts';

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
  readonly warning?: Warning['code'];
}

/** The topology of node `here`, where `pool` and `ring` are labels of communities. */
function topologyOf({ key, labels = { site: 'a' }, sets = {}, declared = {} }: Scene): Topology {
  const communities = { nodeLabels: ['pool', 'ring'], labelPrefix: '', labelValues: [] };
  const topologyMatch = { ...PLAIN_TOPOLOGY.topologyMatch, communities };
  const topology = new Topology({ ...PLAIN_TOPOLOGY, topologyMatch, nodeName: 'here' });
  const members = Object.entries(declared).map(([name, nodes]) => [name, new Set(nodes)] as const);
  topology.setCommunities(new Map(members));
  topology.setOwnNode({ labels: new Map(Object.entries(labels)), annotations: new Map() });
  topology.setPolicies(
    new Map([['shop/web', { managed: true, keys: [key], source: 'annotation' }]]),
  );
  topology.setSynced('services');
  for (const [selector, nodes] of Object.entries(sets)) {
    topology.changeNodeSet(selector, nodes, []);
    topology.setNodeSetState(selector);
  }
  return topology;
}

describe('the nodes of a key', () => {
  test.each<[what: string, Scene, nodes: string[] | undefined]>([
    [
      'are those of its node set',
      { key: 'site', sets: { 'site=a': ['here', 'near'] } },
      ['here', 'near'],
    ],
    [
      'include this node if its node set does not have it',
      { key: 'site', sets: { 'site=a': ['near'] } },
      ['here', 'near'],
    ],
    [
      'are this node only if its node set is empty',
      { key: 'site', sets: { 'site=a': [] }, warning: 'no-other-node' },
      ['here'],
    ],
    [
      'are this node only if its node set has no other node',
      { key: 'site', sets: { 'site=a': ['here'] }, warning: 'no-other-node' },
      ['here'],
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
    ['are undefined until its node set is known', { key: 'site' }, undefined],
    [
      'are counted once, even if several node sets have them',
      {
        key: COMMUNITY,
        labels: IN_RED,
        sets: { 'pool=red': ['here', 'near', 'far'], 'ring=red': ['near', 'other'] },
      },
      ['far', 'here', 'near', 'other'],
    ],
    [
      'come from any of its node sets',
      { key: COMMUNITY, labels: IN_RED, sets: { 'pool=red': [], 'ring=red': ['near'] } },
      ['here', 'near'],
    ],
    [
      'are undefined until all its node sets are known',
      { key: COMMUNITY, labels: IN_RED, sets: { 'pool=red': ['here', 'near'] } },
      undefined,
    ],
    [
      'include declared members',
      {
        key: COMMUNITY,
        labels: { pool: 'red' },
        sets: { 'pool=red': ['here', 'near'], 'ring=red': [] },
        declared: { red: ['near', 'declared'], blue: ['far'] },
      },
      ['declared', 'here', 'near'],
    ],
    [
      'are the declared members if all node sets are empty',
      {
        key: COMMUNITY,
        sets: { 'pool=red': [], 'ring=red': [] },
        declared: { red: ['here', 'near', 'far'] },
      },
      ['far', 'here', 'near'],
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
    const topology = topologyOf({ key: 'site', sets: { 'site=a': ['here', 'near'] } });
    expect(explainKey(topology, 'site').nodes).toBe(2);
    topology.changeNodeSet('site=a', ['far', 'other'], ['near']);
    expect(explainKey(topology, 'site').nodes).toBe(3);
    expect(topology.nodeSets.get('site=a')?.members).toEqual(new Set(['here', 'far', 'other']));
  });
});

describe('what a key means on this node', () => {
  test.each<[key: string, labels: Record<string, string>, meaning: string]>([
    ['*', {}, 'any endpoint'],
    ['kubernetes.io/hostname', {}, 'endpoints on this node'],
    [CLOUD, {}, 'nodes that are not edge nodes'],
    [ZONE, { [ZONE]: 'z1' }, 'endpoints in zone z1'],
    ['site', { site: 'a' }, 'nodes with site=a'],
    ['rack', {}, 'nothing: this node has no label rack'],
    [COMMUNITY, {}, 'nothing: this node is in no community'],
    [COMMUNITY, { pool: 'red' }, 'nodes in community red'],
    [COMMUNITY, { pool: 'red', ring: 'blue' }, 'nodes in one of the communities blue, red'],
  ])('%s with the labels %j: %s', (key, labels, meaning) => {
    expect(explainKey(topologyOf({ key, labels }), key).meaning).toBe(meaning);
  });

  test.each(['*', 'kubernetes.io/hostname'])('%s does not depend on nodes', (key) => {
    expect(nodesOfKey(topologyOf({ key }), key)).toBeUndefined();
  });
});
