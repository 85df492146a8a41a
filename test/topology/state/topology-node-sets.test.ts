import { beforeEach, describe, expect, test } from '@jest/globals';
import { managed, on, TopologyHarness } from '../../support/topology/topology-harness.ts';

let harness: TopologyHarness;

beforeEach(() => {
  harness = new TopologyHarness();
});

describe('the node sets of a topology', () => {
  test('a change of a node set names the nodes and the key that they affect', () => {
    harness.settle({ site: 'a' }, { 'default/web': managed('site') });
    harness.sync('site=a', 'edge-1', 'edge-2');
    harness.touched();
    harness.topology.changeNodeSet('site=a', ['edge-4'], ['edge-2']);
    expect(harness.changes).toHaveLength(1);
    expect([...(harness.changes[0]?.nodes ?? [])]).toEqual([
      ['edge-4', new Set(['site'])],
      ['edge-2', new Set(['site'])],
    ]);
    expect(harness.sees(['site'], on('edge-2'), on('edge-4'))).toEqual([false, true]);
  });

  test('a node set is no longer needed when the last policy that uses it is deleted', () => {
    harness.settle(
      { site: 'a' },
      { 'default/web': managed('site'), 'default/db': managed('site') },
    );
    harness.sync('site=a');
    harness.setKeys('default/web');
    expect(harness.wanted).toEqual(['site=a']);
    harness.setKeys('default/db', '*');
    expect(harness.wanted).toEqual([]);
    expect(harness.touched()).toEqual(['default/db', 'default/web']);
  });

  test('when an own label changes, the previous decision remains until the new nodes are known', () => {
    harness.settle({ site: 'a' }, { 'default/web': managed('site'), 'default/db': managed('*') });
    harness.sync('site=a', 'edge-1', 'edge-2');
    harness.touched();

    harness.setOwnLabels({ site: 'b' });
    expect(harness.wanted).toEqual(['site=a', 'site=b']);
    expect(harness.touched()).toEqual([]);
    expect(harness.sees(['site'], on('edge-2'), on('edge-3'))).toEqual([true, false]);
    harness.topology.changeNodeSet('site=b', ['edge-1', 'edge-3'], []);
    expect(harness.sees(['site'], on('edge-2'), on('edge-3'))).toEqual([true, false]);

    harness.sync('site=b');
    expect(harness.sees(['site'], on('edge-2'), on('edge-3'))).toEqual([false, true]);
    // Only Services with an endpoint on these nodes are affected; the own node is in both sets.
    expect(harness.touchedNodes()).toEqual({ 'edge-2': ['site'], 'edge-3': ['site'] });
    expect(harness.touched()).toEqual([]);
    expect(harness.wanted).toEqual(['site=b']);
  });

  test('a policy that returns while its node set lingers is active immediately', () => {
    harness.settle({ site: 'a' }, { 'default/web': managed('site') });
    harness.sync('site=a', 'edge-2');
    harness.setKeys('default/web', '*');
    harness.topology.changeNodeSet('site=a', ['edge-3'], ['edge-2']);
    harness.topology.dropNodeSet('site=b');
    harness.setKeys('default/web', 'site');
    expect(harness.topology.settled).toBe(true);
    expect(harness.sees(['site'], on('edge-2'), on('edge-3'))).toEqual([false, true]);
    harness.topology.dropNodeSet('site=a');
    expect(harness.sees(['site'], on('edge-3'))).toEqual([true]);
    harness.setKeys('default/web');
    harness.topology.dropNodeSet('site=a');
    expect(harness.sees(['site'], on('edge-3'))).toEqual([false]);
    expect(harness.topology.nodeSets.size).toBe(0);
  });

  test('above maxNodeSets, sets in use remain, and the next set has this node only', () => {
    harness = new TopologyHarness({ maxNodeSets: 1 });
    harness.settle({ site: 'a', rack: 'r' }, { 'default/web': managed('site') });
    harness.sync('site=a');
    harness.topology.changeNodeSet('site=a', ['edge-2'], []);
    harness.setKeys('default/db', 'rack');
    expect(harness.topology.settled).toBe(true);
    expect(harness.topology.nodeSets.get('rack=r')).toMatchObject({
      state: 'overLimit',
      needed: true,
    });
    expect(harness.sees(['rack'], on('edge-1'), on('edge-2'))).toEqual([true, false]);
    expect(harness.sees(['site'], on('edge-2'))).toEqual([true]);
    harness.setKeys('default/web');
    expect(harness.topology.nodeSets.get('rack=r')).toMatchObject({
      state: 'syncing',
      refusal: undefined,
    });
    expect(harness.topology.nodeSets.has('site=a')).toBe(false);
    harness.topology.changeNodeSet('rack=r', ['edge-2'], []);
    expect(harness.sees(['rack'], on('edge-2'))).toEqual([true]);
  });

  test('a refused node set has only this node, and reports the refusal', () => {
    harness.settle({ site: 'a' }, { 'default/web': managed('site') });
    harness.topology.setNodeSetState('site=a', 'nodes is forbidden');
    expect(harness.topology.settled).toBe(true);
    expect(harness.sees(['site'], on('edge-1'), on('edge-2'))).toEqual([true, false]);
    expect(harness.topology.nodeSets.get('site=a')).toMatchObject({
      state: 'refused',
      refusal: 'nodes is forbidden',
    });
    harness.sync('site=a', 'edge-2');
    expect(harness.sees(['site'], on('edge-2'))).toEqual([true]);
    expect(harness.topology.nodeSets.get('site=a')).toMatchObject({
      state: 'synced',
      refusal: undefined,
    });
  });

  test('a known node set keeps its nodes when the API server refuses it later', () => {
    harness.settle({ site: 'a' }, { 'default/web': managed('site') });
    harness.sync('site=a', 'edge-2');
    harness.topology.setNodeSetState('site=a', 'nodes is forbidden');
    expect(harness.sees(['site'], on('edge-2'))).toEqual([true]);
    expect(harness.topology.nodeSets.get('site=a')?.refusal).toBe('nodes is forbidden');
  });

  test('a pending policy that is replaced no longer needs its nodes', () => {
    harness.settle({ site: 'a', rack: 'r' }, { 'default/web': managed('*') });
    harness.setKeys('default/web', 'site');
    harness.setKeys('default/web', 'rack');
    expect(harness.wanted).toEqual(['rack=r']);
    expect([...harness.topology.policies.keysInUse()]).toEqual(['*', 'rack']);
    harness.setKeys('default/web', '*');
    expect(harness.wanted).toEqual([]);
    expect(harness.topology.settled).toBe(true);
  });

  test('neither a pending policy nor an equal one affects a Service that has a policy active', () => {
    harness.settle({ site: 'a' }, { 'default/web': managed('*') });
    harness.touched();
    harness.setKeys('default/web', '*');
    harness.setKeys('default/web', 'site');
    expect(harness.touched()).toEqual([]);
    harness.sync('site=a');
    expect(harness.touched()).toEqual(['default/web']);
  });
});
