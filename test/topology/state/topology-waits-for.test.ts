import { beforeEach, describe, expect, test } from '@jest/globals';
import { PLAIN_TOPOLOGY } from '../../support/projection/topology.ts';
import { managed, on, TopologyHarness } from '../../support/topology/topology-harness.ts';

let harness: TopologyHarness;

describe('waitsFor()', () => {
  const community = 'kube-proxy-wrapper.io/community';
  const pools = { nodeLabels: ['pool'], labelPrefix: 'c.x/', labelValues: [] };

  beforeEach(() => {
    const topologyMatch = { ...PLAIN_TOPOLOGY.topologyMatch, communities: pools };
    harness = new TopologyHarness({ topologyMatch });
    harness.settle({}, { 'default/web': managed(community, 'site') });
  });

  const waits = () => [...harness.topology.waitsFor('default/web')].sort();

  test('follows own labels and communities that change while others are pending', () => {
    harness.setOwnLabels({ pool: 'red' });
    expect(waits()).toEqual(['c.x/red=true', 'pool=red']);
    harness.setOwnLabels({ pool: 'blue', site: 'a' });
    expect(waits()).toEqual(['c.x/blue=true', 'pool=blue', 'site=a']);
    harness.topology.setCommunities(new Map([['ring', new Set(['edge-1', 'edge-2'])]]));
    expect(waits()).toEqual(['c.x/blue=true', 'c.x/ring=true', 'pool in (blue,ring)', 'site=a']);
    harness.topology.setCommunities(new Map());
    expect(waits()).toEqual(['c.x/blue=true', 'pool=blue', 'site=a']);
  });

  test('is empty once the node sets are known and the change is active', () => {
    harness.setOwnLabels({ pool: 'red' });
    expect(waits()).toEqual(['c.x/red=true', 'pool=red']);
    harness.topology.setCommunities(new Map([['red', new Set(['edge-1', 'edge-2'])]]));
    harness.sync('pool=red');
    expect(waits()).toEqual(['c.x/red=true']);
    expect(harness.sees([community], on('edge-1'), on('edge-2'))).toEqual([false, false]);
    harness.sync('c.x/red=true', 'edge-3');
    expect(waits()).toEqual([]);
    expect(harness.sees([community], on('edge-1'), on('edge-2'), on('edge-3'))).toEqual([
      true,
      true,
      true,
    ]);
    harness.setOwnLabels({});
    harness.topology.setCommunities(new Map());
    expect(harness.sees([community], on('edge-1'), on('edge-2'), on('edge-3'))).toEqual([
      false,
      false,
      false,
    ]);
  });

  // Regression: the page calls it for each pending row, five times a second. Visiting all members took 0.4 s each time.
  test('does not visit the members of communities on each call', () => {
    let looks = 0;
    class Members extends Set<string> {
      override [Symbol.iterator]() {
        looks++;
        return super[Symbol.iterator]();
      }
    }
    harness.topology.setCommunities(new Map([['red', new Members(['edge-1', 'edge-2'])]]));
    expect(waits()).toEqual(['c.x/red=true', 'pool=red']);
    looks = 0;
    waits();
    expect(looks).toBe(0);
  });
});
