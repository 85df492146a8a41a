import { beforeEach, describe, expect, test } from '@jest/globals';
import { managed, on, TopologyHarness } from '../../support/topology/topology-harness.ts';

const zone = 'topology.kubernetes.io/zone';
let harness: TopologyHarness;

beforeEach(() => {
  harness = new TopologyHarness();
});

describe('the zone key', () => {
  test('needs nodes only where an endpoint has no zone of its own', () => {
    harness.settle({ [zone]: 'z1' }, { 'default/web': managed(zone), 'default/db': managed('*') });
    const view = {};
    harness.topology.setServicesWithoutZone(view, [['default/db', true]]);
    expect(harness.wanted).toEqual([]);
    harness.topology.setServicesWithoutZone(view, [['default/web', true]]);
    expect(harness.wanted).toEqual([`${zone}=z1`]);
    harness.topology.setServicesWithoutZone(view, [['default/web', false]]);
    expect(harness.wanted).toEqual([]);
  });

  test('nothing waits for the nodes of the zone: until they are known, an endpoint without one does not match', () => {
    harness.settle({ [zone]: 'z1' }, { 'default/web': managed(zone) });
    harness.touched();
    harness.topology.setServicesWithoutZone({}, [['default/web', true]]);
    expect(harness.changes).toEqual([]);
    expect([harness.topology.settled, harness.topology.waitsFor('default/web')]).toEqual([
      true,
      [],
    ]);
    expect(harness.topology.policyInForce('default/web')).toMatchObject({ keys: [zone] });
    const endpoints = [on('edge-1'), on('edge-2'), on('edge-3'), on('edge-3', 'z1')];
    expect(harness.sees([zone], ...endpoints)).toEqual([true, false, false, true]);
    harness.topology.changeNodeSet(`${zone}=z1`, ['edge-2'], []);
    expect(harness.touchedNodes()).toEqual({ 'edge-2': [zone] });
    harness.topology.setNodeSetState(`${zone}=z1`);
    expect(harness.sees([zone], ...endpoints, on('edge-2', 'z2'))).toEqual([
      true,
      true,
      false,
      true,
      false,
    ]);
    harness.setOwnLabels({ [zone]: 'z2' });
    expect(harness.topology.settled).toBe(true);
    expect(harness.sees([zone], ...endpoints)).toEqual([true, false, false, false]);
  });

  // Regression: the index kept the key of the first policy, so the nodes of the zone were watched forever.
  test('a replaced policy with the zone key no longer needs the nodes of the zone', () => {
    harness.settle({ [zone]: 'z1', site: 'a' }, { 'default/web': managed(zone) });
    harness.topology.setPolicies(new Map([['default/web', managed('site')]]));
    harness.topology.setServicesWithoutZone({}, [['default/web', true]]);
    harness.topology.setNodeSetState('site=a');
    expect(harness.wanted).toEqual(['site=a']);
  });

  test('a node that left the zone while its nodes were not watched is not in it later', () => {
    const policy = managed(zone);
    const view = {};
    const endpoint = on('edge-2');
    const seen = () =>
      harness.topology.decide([{ ports: [], endpoints: [endpoint] }], policy).keep[0];
    harness.settle({ [zone]: 'z1' }, { 'default/web': policy });
    harness.topology.setServicesWithoutZone(view, [['default/web', true]]);
    harness.topology.changeNodeSet(`${zone}=z1`, ['edge-2'], []);
    harness.topology.setNodeSetState(`${zone}=z1`);
    expect(seen()).toBe(1);
    harness.topology.setServicesWithoutZone(view, [['default/web', false]]);
    harness.topology.dropNodeSet(`${zone}=z1`);
    harness.topology.setServicesWithoutZone(view, [['default/web', true]]);
    harness.topology.setNodeSetState(`${zone}=z1`);
    expect(seen()).toBe(0);
  });
});
