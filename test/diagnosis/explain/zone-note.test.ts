import { expect, test } from '@jest/globals';
import { zoneNote } from '../../../src/diagnosis/explain/zone-note.ts';
import { managed, on, TopologyHarness } from '../../support/topology/topology-harness.ts';

const ZONE = 'topology.kubernetes.io/zone';

test('says where the label of a node and the zone in a slice differ, and where only the slice is known', () => {
  const harness = new TopologyHarness();
  const { topology } = harness;
  harness.settle({ [ZONE]: 'z1' }, { 'default/web': managed(ZONE) });
  harness.sync(`${ZONE}=z1`, 'near', 'renamed');
  const endpoints = ['moved', 'bare', 'late', 'abroad'].map((node) => on(node, 'z1'));
  harness.seesAfterLookup([ZONE], ...endpoints);
  harness.found({ moved: 'z2', bare: '', late: 'z1' });
  harness.seesAfterLookup([ZONE], on('asked', 'z1'));
  const all = [
    on('near', 'z1'),
    on('near'),
    on('renamed', 'z0'),
    on('edge-1', 'z0'),
    on('far', 'z2'),
    on('', 'z1'),
    ...endpoints,
    on('asked', 'z1'),
    on('no name', 'z1'),
  ];
  expect(all.map((endpoint) => [endpoint.node, zoneNote(topology, endpoint)])).toEqual([
    ['near', undefined],
    ['near', undefined],
    ['renamed', `by its label, its node is in this node's zone; its slice still says "z0"`],
    ['edge-1', `by its label, its node is in this node's zone; its slice still says "z0"`],
    ['far', undefined],
    ['', undefined],
    ['moved', 'by its label, its node is in zone z2; its slice still says "z1"'],
    ['bare', 'by its label, its node is in no zone; its slice still says "z1"'],
    [
      'late',
      'its zone is that of its slice, because its node is not known: the node set does not have it yet',
    ],
    ['abroad', 'its zone is that of its slice, because there is no such Node'],
    [
      'asked',
      'its zone is that of its slice, because its node is not known: it is being looked up',
    ],
    ['no name', 'its zone is that of its slice, because there is no such Node'],
  ]);
});
