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
    const found = new LocalPods(new Set([name]), pods);
    expect(found.find({ namespace: 'default', name: 'web', uid })?.uid).toBe(expected);
  });
});
