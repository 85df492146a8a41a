import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Endpoint } from '../../../src/topology/decide/endpoint.ts';
import { managed, on, TopologyHarness } from '../../support/topology/topology-harness.ts';

const zone = 'topology.kubernetes.io/zone';
let harness: TopologyHarness;

beforeEach(() => {
  harness = new TopologyHarness();
});

/** Whether the topology has settled, and what the Service waits for. */
function waits() {
  return [harness.topology.settled, harness.topology.waitsFor('default/web')];
}

function activeKeys() {
  const policy = harness.topology.activePolicy('default/web');
  return policy?.managed === true ? policy.keys : [];
}

describe('the zone key', () => {
  test('needs nodes only where an endpoint has no zone of its own', () => {
    harness.settle({ [zone]: 'z1' }, { 'default/web': managed(zone), 'default/db': managed('*') });
    const view = {};
    harness.topology.setServicesWithoutZone(view, new Map([['default/db', true]]));
    expect(harness.wanted).toEqual([]);
    harness.topology.setServicesWithoutZone(view, new Map([['default/web', true]]));
    expect(harness.wanted).toEqual([`${zone}=z1`]);
    harness.topology.setServicesWithoutZone(view, new Map([['default/web', false]]));
    expect(harness.wanted).toEqual([]);
  });

  test('endpoints that lose their zones cannot be decided until the nodes of the zone are known', () => {
    const endpoints = [on('edge-1'), on('edge-2'), on('edge-3'), on('edge-3', 'z1')];
    const canDecide = (key: string, ...decided: Endpoint[]) =>
      harness.topology.canDecide(managed(key), [{ ports: [], endpoints: decided }]);
    harness.settle({ [zone]: 'z1' }, { 'default/web': managed(zone) });
    expect(canDecide(zone, ...endpoints)).toBe(false);
    harness.topology.setServicesWithoutZone({}, new Map([['default/web', true]]));
    expect(waits()).toEqual([false, [`${zone}=z1`]]);
    expect(canDecide(zone, ...endpoints)).toBe(false);
    expect(canDecide(zone, on('', ''), on('edge-3', 'z1'))).toBe(true);
    expect(canDecide('site', ...endpoints)).toBe(true);
    harness.sync(`${zone}=z1`, 'edge-2');
    expect(waits()).toEqual([true, []]);
    expect(canDecide(zone, ...endpoints)).toBe(true);
    const seen = harness.sees([zone], ...endpoints, on('edge-2', 'z2'));
    expect(seen).toEqual([true, true, false, true, false]);
  });

  test('a policy and a label of this node become active when the nodes of the zone are known', () => {
    harness.settle({ [zone]: 'z1' }, { 'default/web': managed('*') });
    harness.topology.setServicesWithoutZone({}, new Map([['default/web', true]]));
    harness.setKeys('default/web', zone);
    expect(waits()).toEqual([false, [`${zone}=z1`]]);
    expect(activeKeys()).toEqual(['*']);
    harness.sync(`${zone}=z1`);
    expect(activeKeys()).toEqual([zone]);
    harness.setOwnLabels({ [zone]: 'z2' });
    expect(waits()).toEqual([false, [`${zone}=z2`]]);
    expect(harness.sees([zone], on('edge-3', 'z1'))).toEqual([true]);
    harness.sync(`${zone}=z2`);
    expect(waits()).toEqual([true, []]);
    expect(harness.sees([zone], on('edge-3', 'z1'))).toEqual([false]);
  });

  test('a policy that waits for the nodes of the zone becomes active if no endpoint needs them any more', () => {
    const view = {};
    harness.settle({ [zone]: 'z1' }, { 'default/web': managed('*') });
    harness.topology.setServicesWithoutZone(view, new Map([['default/web', true]]));
    harness.setKeys('default/web', zone);
    expect(activeKeys()).toEqual(['*']);
    harness.topology.setServicesWithoutZone(view, new Map([['default/web', false]]));
    expect(activeKeys()).toEqual([zone]);
  });

  // Regression: the index kept the key of the first policy, so the nodes of the zone were watched forever.
  test('a replaced policy with the zone key no longer needs the nodes of the zone', () => {
    harness.settle({ [zone]: 'z1', site: 'a' }, { 'default/web': managed(zone) });
    harness.setKeys('default/web', 'site');
    harness.topology.setServicesWithoutZone({}, new Map([['default/web', true]]));
    harness.sync('site=a');
    expect(harness.wanted).toEqual(['site=a']);
  });
});
