import { describe, expect, test } from '@jest/globals';
import {
  type LocalPod,
  LocalPods,
  readySandbox,
  validAddresses,
} from '../../../src/node/local-runtime/local-pods.ts';
import { type FakeSandbox, toSandbox } from '../../support/local-runtime/fake-runtime.ts';

const sandbox = (id: string, rest: Partial<FakeSandbox> = {}) =>
  toSandbox({ id, pod: 'web', ...rest });

describe('readySandbox()', () => {
  test.each([
    ['none is ready', [sandbox('s1', { ready: false })], undefined],
    ['an old one is not ready', [sandbox('s1', { ready: false }), sandbox('s2')], 's2'],
    [
      'the clock went back after a power cut: attempts count first',
      [sandbox('s1', { attempt: 0, createdAt: 9n }), sandbox('s2', { attempt: 1, createdAt: 1n })],
      's2',
    ],
    [
      'attempts are equal: the newest',
      [sandbox('s1', { createdAt: 1n }), sandbox('s2', { createdAt: 2n }), sandbox('s3')],
      's2',
    ],
  ])('%s', (_, sandboxes, expected) => {
    expect(readySandbox(sandboxes)?.id).toBe(expected);
  });
});

describe('validAddresses()', () => {
  test('leaves out what is not an address', () => {
    const network = { isHostNetwork: false, addresses: ['', '10.1.0.2', 'fd00::2', 'x'] };
    expect(validAddresses(network).addresses).toEqual(['10.1.0.2', 'fd00::2']);
  });

  // A runtime may report an address of the node, and not the one that the kubelet chose.
  test('a sandbox with the network of the node has no address of its own', () => {
    const network = { isHostNetwork: true, addresses: ['192.168.0.9'] };
    expect(validAddresses(network)).toEqual({ isHostNetwork: true, addresses: [] });
  });
});

describe('LocalPods', () => {
  const name = 'default/web';
  const down = (uid: string, isStatic = false): LocalPod => ({
    name,
    uid,
    isStatic,
    network: undefined,
  });
  const running = (uid: string, address: string, isStatic = false): LocalPod => ({
    ...down(uid, isStatic),
    network: { isHostNetwork: false, addresses: [address] },
  });
  test.each([
    ['by its uid', 'u2', [running('u1', '10.1.0.1'), running('u2', '10.1.0.2')], 'u2'],
    [
      'not under the uid of another Pod of the same name',
      'u2',
      [running('u1', '10.1.0.1')],
      undefined,
    ],
    [
      'under the uid of the mirror Pod of a static Pod, the edited one first',
      'mirror',
      [down('u1', true), running('u2', '10.1.0.2', true)],
      'u2',
    ],
    [
      'by its name without a uid, if a sandbox is ready',
      '',
      [down('u1'), running('u2', '10.1.0.2')],
      'u2',
    ],
  ])('a Pod is found %s', (_, uid, pods, expected) => {
    const found = new LocalPods(pods);
    expect(found.find({ namespace: 'default', name: 'web', uid }, '10.1.0.8')?.uid).toBe(expected);
  });

  // The address went back and forth with the order in which the runtime listed them, once a second.
  test.each([
    ['the first', '10.1.0.1'],
    ['the second', '10.1.0.2'],
  ])(
    'an endpoint with the address of %s of two sandboxes of a static Pod keeps it',
    (_, address) => {
      const pods = [running('u1', '10.1.0.1', true), running('u2', '10.1.0.2', true)];
      for (const listed of [pods, pods.toReversed()]) {
        const found = new LocalPods(listed);
        const pod = found.find({ namespace: 'default', name: 'web', uid: 'mirror' }, address);
        expect(pod?.network?.addresses).toEqual([address]);
      }
    },
  );

  // Tenants decide how many endpoints name Pods of this node: with 250 Pods, 100,000 took a second of CPU.
  test('a look-up touches no other Pod', () => {
    let touched = 0;
    const pods = Array.from({ length: 100 }, (_, index) => {
      const pod = running(`u${index}`, `10.1.0.${index}`);
      const count = () => {
        touched++;
        return pod.network;
      };
      return Object.defineProperty({ ...pod, name: `default/web-${index}` }, 'network', {
        get: count,
        enumerable: true,
      });
    });
    const found = new LocalPods(pods);
    touched = 0;
    expect(found.find({ namespace: 'default', name: 'web-99', uid: 'u99' }, '')?.uid).toBe('u99');
    expect(found.find({ namespace: 'default', name: 'invented', uid: 'u1' }, '')).toBeUndefined();
    expect(found.ownerOf('10.1.0.99')).toBe('default/web-99');
    expect(touched).toBe(0);
  });

  test('two reads are equal if they found the same, in any order', () => {
    const pods = [running('u1', '10.1.0.1'), running('u2', '10.1.0.2')];
    const others = new Set(['default/job', 'default/other']);
    const read = new LocalPods(pods, others);
    const again = new LocalPods(pods.toReversed(), new Set([...others].reverse()));
    expect(read.equals(again)).toBe(true);
    for (const [changed, rest] of [
      [[running('u1', '10.1.0.1'), running('u2', '10.1.0.3')], others],
      [[running('u1', '10.1.0.1'), down('u2')], others],
      [pods, new Set(['default/job'])],
    ] as const) {
      expect(read.equals(new LocalPods(changed, rest))).toBe(false);
    }
  });
});
