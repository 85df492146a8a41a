import { expect, test } from '@jest/globals';
import type { V1ContainerState, V1ContainerStatus, V1PodStatus } from '@kubernetes/client-node';
import { troubleOf } from '../../../src/commands/remote/pod-trouble.ts';

const LOOP: V1ContainerState = { waiting: { reason: 'CrashLoopBackOff' } };
const ENDED = ended('Error', 'no such key');
const running = (startedAt: Date): V1ContainerState => ({ running: { startedAt } });

function ended(reason: string, message: string): V1ContainerState {
  return { terminated: { reason, message, exitCode: 1 } };
}

function container(status: Partial<V1ContainerStatus>): V1PodStatus {
  return { containerStatuses: [{ name: 'kube-proxy-wrapper', ...status } as V1ContainerStatus] };
}

function waiting(reason: string, name: string): V1ContainerStatus[] {
  return [{ name, state: { waiting: { reason } } } as V1ContainerStatus];
}

/* Between two waits a container has ended, or runs for a moment. Status then once said that all is well. */
test.each<[pod: string, status: V1PodStatus, trouble: string | undefined]>([
  [
    'waits after a crash',
    container({ state: LOOP, lastState: ENDED }),
    'CrashLoopBackOff: no such key',
  ],
  ['has crashed', container({ state: ENDED }), 'CrashLoopBackOff: no such key'],
  [
    'starts after a crash, and is ready because the Pod before it answers its probes',
    container({ ready: true, state: running(new Date()), lastState: ENDED }),
    'CrashLoopBackOff: no such key',
  ],
  [
    'has run for long since a crash',
    container({ state: running(new Date(0)), lastState: ENDED }),
    undefined,
  ],
  [
    'was killed, which its log does not know',
    container({ state: LOOP, lastState: ended('OOMKilled', '{}\n{"msg":"listening"}\n') }),
    'CrashLoopBackOff: OOMKilled: listening',
  ],
  [
    'has the wrong image in all containers, and only the first one has been started',
    {
      initContainerStatuses: waiting('ImagePullBackOff', 'own-state-dir'),
      containerStatuses: waiting('PodInitializing', 'kube-proxy-wrapper'),
    },
    'ImagePullBackOff: ',
  ],
  ['only starts', { containerStatuses: waiting('ContainerCreating', 'other') }, undefined],
])('a Pod that %s is in the trouble that its last words name', (_, status, expected) => {
  const trouble = troubleOf({ metadata: { name: 'a' }, status });
  expect(trouble && `${trouble.reason}: ${trouble.message}`).toBe(expected);
});
