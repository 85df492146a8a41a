import { describe, expect, test } from '@jest/globals';
import { Topology } from '../../../src/topology/state/topology.ts';
import { PLAIN_TOPOLOGY } from '../../support/projection/topology.ts';

describe('Topology.setCloudOnly()', () => {
  const start = () => {
    const topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'own' });
    const notified: string[] = [];
    const note =
      (phase: string) =>
      (services: Iterable<string> = []) => {
        const all = [...services].map(
          (service) => `${service} ${topology.cloudOnly?.has(service)}`,
        );
        notified.push([phase, ...all].join(' '));
      };
    const end = topology.subscribe({ hiding: note('hiding'), showing: note('showing') });
    return { topology, notified, end };
  };

  test('makes the Services known, even if none is hidden', () => {
    const { topology, notified, end } = start();
    expect(topology.cloudOnly).toBeUndefined();
    topology.setCloudOnly(new Map());
    expect([topology.cloudOnly?.size, notified]).toEqual([0, ['hiding', 'showing']]);
    end();
    topology.setCloudOnly(new Map([['web', true]]));
    expect(notified).toHaveLength(2);
  });

  test('notifies with all given Services, after they are set', () => {
    const { topology, notified } = start();
    topology.setCloudOnly(
      new Map([
        ['web', true],
        ['db', false],
      ]),
    );
    topology.setCloudOnly(new Map([['web', false]]));
    expect(notified).toEqual([
      'hiding web true db false',
      'showing web true db false',
      'hiding web false',
      'showing web false',
    ]);
    expect(topology.cloudOnly?.size).toBe(0);
  });
});
