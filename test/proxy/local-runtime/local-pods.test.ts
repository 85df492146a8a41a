import { describe, expect, test } from '@jest/globals';
import type { ContainerExit } from '../../../src/proxy/local-runtime/container-runtime.ts';
import {
  allRun,
  type LocalPod,
  LocalPods,
  readySandbox,
  validAddresses,
} from '../../../src/proxy/local-runtime/local-pods.ts';
import {
  exitOf,
  type FakeContainer,
  type FakeSandbox,
  toContainers,
  toSandbox,
} from '../../support/local-runtime/fake-runtime.ts';

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

const exited = (code: number, finishedAt: bigint): { state: 'exited'; exit: ContainerExit } => ({
  state: 'exited',
  exit: { code, finishedAt },
});

describe('allRun()', () => {
  test.each<[string, boolean, readonly FakeContainer[]]>([
    ['nothing was created yet', false, []],
    ['a container was created and not started', false, [{ name: 'main', state: 'other' }]],
    [
      'a container runs again after a failure',
      true,
      [
        { name: 'main', createdAt: 1n, ...exited(137, 5n) },
        { name: 'main', createdAt: 6n },
      ],
    ],
    [
      'the last run has failed',
      false,
      [
        { name: 'main', createdAt: 6n, ...exited(1, 7n) },
        { name: 'main', createdAt: 1n, ...exited(1, 5n) },
      ],
    ],
    [
      'init containers have completed',
      true,
      [
        { name: 'init-1', createdAt: 1n, ...exited(0, 2n) },
        { name: 'init-2', createdAt: 3n, ...exited(0, 4n) },
        { name: 'main', createdAt: 5n },
      ],
    ],
    [
      'an init container has completed and nothing else exists',
      false,
      [{ name: 'i', ...exited(0, 2n) }],
    ],
    [
      'an init container runs beside a sidecar',
      // It cannot be told from a second container. The Pod counts as ready a little too early.
      true,
      [
        { name: 'sidecar', createdAt: 1n },
        { name: 'init', createdAt: 2n },
      ],
    ],
    [
      'a container ended with success and is not restarted yet',
      false,
      [
        { name: 'a', createdAt: 1n },
        { name: 'b', createdAt: 2n, ...exited(0, 9n) },
      ],
    ],
    [
      'how a container ended is not known',
      false,
      [
        { name: 'init', createdAt: 1n, state: 'exited' },
        { name: 'main', createdAt: 5n },
      ],
    ],
  ])('%s: %s', (_, expected, containers) => {
    const fake = { id: 's1', pod: 'web', containers };
    expect(allRun(toContainers(fake), ({ id }) => exitOf([fake], id))).toBe(expected);
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
  const running = (uid: string, address: string, isStatic = false): LocalPod => ({
    uid,
    isStatic,
    isRunning: true,
    network: { isHostNetwork: false, addresses: [address] },
  });
  const down = (uid: string, isStatic = false): LocalPod => ({
    uid,
    isStatic,
    isRunning: false,
    network: undefined,
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
    const found = new LocalPods(new Map([['default/web', pods]]));
    expect(found.find({ namespace: 'default', name: 'web', uid })?.uid).toBe(expected);
  });
});
