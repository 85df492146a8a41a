import { expect, test } from '@jest/globals';
import type { V1ContainerState, V1ContainerStatus, V1PodStatus } from '@kubernetes/client-node';
import { troubleOf } from '../../../cli/remote/pod-trouble.ts';

const LOOP: V1ContainerState = { waiting: { reason: 'CrashLoopBackOff' } };
const WRONG = 'kube-proxy-wrapper: invalid settings: no such key';
const TAKEN =
  'kube-proxy-wrapper: cannot listen on 127.0.0.1:10360 (listen): listen EADDRINUSE: address already in use';
const ENDED = ended(1, 'Error', WRONG);
const running = (startedAt: Date): V1ContainerState => ({ running: { startedAt } });
const LOG = '{"msg":"listening"}\n{"msg":"refused","err":{"message":"Expired: 4711 is too old"}}\n';
const CORRECT = 'correct the settings or the image';

function ended(exitCode: number, reason: string, message = ''): V1ContainerState {
  const finishedAt = new Date(Date.now() - 9_000);
  return { terminated: { reason, message, exitCode, finishedAt } };
}

function container(status: Partial<V1ContainerStatus>): V1PodStatus {
  return { containerStatuses: [{ name: 'kube-proxy-wrapper', ...status } as V1ContainerStatus] };
}

function waiting(reason: string, name: string, message?: string): V1ContainerStatus[] {
  return [{ name, state: { waiting: { reason, message } } } as V1ContainerStatus];
}

/* Between two waits a container has ended, or runs for a moment. Status then once said that all is well. */
test.each<[pod: string, status: V1PodStatus, trouble?: string, next?: string]>([
  [
    'waits after a crash',
    container({ state: LOOP, lastState: ENDED }),
    `CrashLoopBackOff: ended with code 1: ${WRONG}`,
    CORRECT,
  ],
  [
    'has crashed',
    container({ state: ENDED }),
    `CrashLoopBackOff: ended with code 1: ${WRONG}`,
    CORRECT,
  ],
  [
    'starts after a crash, and is ready because the Pod before it answers its probes',
    container({ ready: true, state: running(new Date()), lastState: ENDED }),
    `runs again: ended with code 1: ${WRONG}`,
    CORRECT,
  ],
  [
    'finds its ports in use, as beside a static Pod of the wrapper',
    container({ state: LOOP, lastState: ended(1, 'Error', TAKEN) }),
    `CrashLoopBackOff: ended with code 1: ${TAKEN}`,
    'see "The address is in use" in docs/operations-node.md: two Pods of the wrapper, or another program',
  ],
  ['has run for long since a crash', container({ state: running(new Date(0)), lastState: ENDED })],
  // Its last line was once taken for the reason, and told people to correct the settings.
  [
    'runs again after it was killed in the middle of its log',
    container({ state: running(new Date()), lastState: ended(137, 'Error', LOG) }),
    'runs again: was killed (137)',
    'see kubectl logs --previous',
  ],
  [
    'runs again after a planned restart',
    container({ state: running(new Date()), lastState: ended(0, 'Completed', LOG) }),
  ],
  [
    'was killed for its memory',
    container({ state: LOOP, lastState: ended(137, 'OOMKilled', LOG) }),
    'CrashLoopBackOff: was killed (137, OOMKilled)',
    'raise the memory limit',
  ],
  [
    'ended by an error of Node.js',
    container({
      state: LOOP,
      lastState: ended(
        1,
        'Error',
        `${LOG}TypeError: x is not a function\n    at y\n\nNode.js v24\n`,
      ),
    }),
    'CrashLoopBackOff: ended with code 1: TypeError: x is not a function',
    'see kubectl logs --previous',
  ],
  [
    'cannot be started',
    container({ state: LOOP, lastState: ended(128, 'StartError', 'no such file') }),
    'CrashLoopBackOff: StartError: no such file',
    CORRECT,
  ],
  [
    'has the wrong image in all containers, and only the first one has been started',
    {
      initContainerStatuses: waiting('ImagePullBackOff', 'own-state-dir', 'no such image'),
      containerStatuses: waiting('PodInitializing', 'kube-proxy-wrapper'),
    },
    'ImagePullBackOff: no such image',
    CORRECT,
  ],
  [
    'has a new, wrong image after a crash',
    container({ state: { waiting: { reason: 'ErrImagePull' } }, lastState: ENDED }),
    'ErrImagePull: ',
    CORRECT,
  ],
  ['only starts', { containerStatuses: waiting('ContainerCreating', 'other') }],
])('a Pod that %s is in the trouble that its end names', (...row) => {
  const [, status, expected, next] = row;
  const trouble = troubleOf({ metadata: { name: 'a' }, status });
  expect(trouble && `${trouble.reason ?? 'runs again'}: ${trouble.message}`).toBe(expected);
  expect(trouble?.next).toBe(next);
  // What differs from Pod to Pod is not in the message: thirty nodes share one line.
  if (expected?.includes('(137)')) expect(trouble?.age).toBe('9 s ago');
});

// The Pod before it was well, so a roll-out that waited for a Secret for ever looked well.
test('a Pod that has been starting for minutes is in trouble', () => {
  const status = { containerStatuses: waiting('ContainerCreating', 'kube-proxy-wrapper') };
  const since = (minutes: number) =>
    troubleOf({
      metadata: { name: 'a', creationTimestamp: new Date(Date.now() - minutes * 60_000) },
      status,
    });
  expect(since(4)).toBeUndefined();
  expect(since(6)).toMatchObject({
    reason: 'ContainerCreating',
    next: expect.stringContaining('Secret'),
  });
});
