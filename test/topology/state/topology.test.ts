import { beforeEach, describe, expect, test } from '@jest/globals';
import { managed, on, TopologyHarness } from '../../support/topology/topology-harness.ts';

let harness: TopologyHarness;

beforeEach(() => {
  harness = new TopologyHarness();
});

describe('Topology', () => {
  test('hostname, zone of the endpoint and "*" need no node set', () => {
    harness.settle(
      { 'topology.kubernetes.io/zone': 'z1' },
      { 'default/web': managed('kubernetes.io/hostname', 'topology.kubernetes.io/zone', '*') },
    );
    expect(harness.wanted).toEqual([]);
    expect(harness.topology.settled).toBe(true);
    expect(harness.sees(['kubernetes.io/hostname'], on('edge-1'), on('edge-2'), on(''))).toEqual([
      true,
      false,
      false,
    ]);
    const zone = ['topology.kubernetes.io/zone'];
    expect(harness.sees(zone, on('a', 'z1'), on('b', 'z2'), on('', 'z1'))).toEqual([
      true,
      false,
      false,
    ]);
    expect(harness.sees(['*'], on(''), on('x', 'z9'))).toEqual([true, true]);
  });

  test('is settled once every source is known, and not while a change of this node is pending', () => {
    const sources = { declaredCommunities: true, namespaces: true };
    const steps: (() => void)[] = [
      () => harness.topology.setSynced('namespaces'),
      () => harness.topology.setSynced('services'),
      () => harness.setOwnLabels({}),
      () => harness.topology.setCommunities(new Map()),
    ];
    for (const last of steps) {
      harness = new TopologyHarness(sources);
      for (const step of steps) if (step !== last) step();
      expect(harness.topology.settled).toBe(false);
      last();
      expect(harness.topology.settled).toBe(true);
    }
    harness.setKeys('default/web', 'site');
    harness.setOwnLabels({ site: 'a' });
    expect([harness.topology.hasNext, harness.topology.settled]).toEqual([true, false]);
    harness.sync('site=a');
    expect([harness.topology.hasNext, harness.topology.settled]).toEqual([false, true]);
  });

  test('an empty label value is a value', () => {
    harness.settle({ site: '' }, { 'default/web': managed('site') });
    expect(harness.wanted).toEqual(['site=']);
    expect(harness.sees(['site'], on('edge-1'))).toEqual([true]);
  });

  test('a node set that this node itself enters or leaves changes nothing: only its own Node decides', () => {
    harness.settle({ site: 'a' }, { 'default/web': managed('site') });
    harness.sync('site=a', 'edge-2');
    harness.touched();

    harness.topology.changeNodeSet('site=a', ['edge-1'], []);
    harness.topology.changeNodeSet('site=a', [], ['edge-1']);
    expect(harness.changes).toEqual([]);
    expect(harness.sees(['site'], on('edge-1'), on('edge-2'))).toEqual([true, true]);
    harness.topology.changeNodeSet('site=a', [], ['edge-1', 'edge-2']);
    expect(harness.touchedNodes()).toEqual({ 'edge-2': ['site'] });
  });

  test('own labels that no policy uses affect no Service', () => {
    harness.settle({ site: 'a' }, { 'default/web': managed('site') });
    harness.sync('site=a');
    harness.touched();
    harness.setOwnLabels({ site: 'a', color: 'red' });
    expect(harness.touched()).toEqual([]);
    expect(harness.topology.settled).toBe(true);
  });

  test('counts Services by the source of their policy, or the reason for none', () => {
    harness.settle(
      {},
      { 'default/web': managed('*'), 'default/db': { managed: false, reason: 'headless' } },
    );
    expect(Object.fromEntries(harness.topology.policies.countByKind())).toEqual({
      annotation: 1,
      headless: 1,
    });
  });

  test('a node that is switched off waits for no node set, needs none, and sees all endpoints', () => {
    harness.settle({ site: 'a' }, { 'default/web': managed('site') });
    expect(harness.topology.settled).toBe(false);
    const off = new Map([['kube-proxy-wrapper.io/filter', 'off']]);
    harness.topology.setOwnNode({ labels: new Map([['site', 'b']]), annotations: off });
    expect(harness.topology.settled).toBe(true);
    expect(harness.wanted).toEqual([]);
    expect(harness.topology.activePolicy('default/web')).toEqual({
      managed: false,
      reason: 'node-off',
    });

    harness.setOwnLabels({ site: 'b' });
    expect(harness.wanted).toEqual(['site=b']);
    expect(harness.topology.activePolicy('default/web')).toEqual({
      managed: false,
      reason: 'node-off',
    });
    harness.sync('site=b');
    expect(harness.topology.activePolicy('default/web')).toMatchObject({ managed: true });
  });
});
