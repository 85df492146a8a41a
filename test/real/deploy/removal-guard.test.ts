import { beforeAll, expect, test } from '@jest/globals';
import type { ControlPlane } from '../../../harness/api-server/control-plane.ts';
import { startBarePlane } from '../../../harness/deploy/plane.ts';
import { readText } from '../../../harness/deploy/repository.ts';
import { poll } from '../../../harness/poll.ts';
import { stoppedLater } from '../../support/closed-later.ts';

let plane: ControlPlane;

beforeAll(async () => {
  plane = stoppedLater(await startBarePlane());
  await run('apply', '--server-side', '-k', 'manifests/overlays/kubeadm');
  const kubeProxy = readText('test/real/deploy/fixtures/kubeadm-kube-proxy.yaml');
  await plane.kubectl(['apply', '--server-side', '-f', '-'], kubeProxy);
  await run('apply', '--server-side', '-f', 'manifests/removal-guard.yaml');
}, 600_000);

async function run(...args: string[]): Promise<string> {
  return await plane.kubectl(args);
}

/** The API server needs a moment to see what has changed. */
async function said(what: readonly string[], expected: (said: string) => boolean): Promise<void> {
  const options = { timeoutMs: 90_000, intervalMs: 200, what: `the answer to delete ${what}` };
  await poll(async () => await refusal(...what), expected, options);
}

/** What the API server says to a deletion, without any. */
async function refusal(...what: string[]): Promise<string> {
  return await run('delete', '--dry-run=server', ...what).then(() => '', String);
}

const inSystem = ['-n', 'kube-system'];
const wrapper = [...inSystem, 'daemonset', 'kube-proxy-wrapper'];

async function pointKubeProxy(patch: string): Promise<void> {
  const file = `manifests/overlays/kubeadm/${patch}.yaml`;
  await run(...inSystem, 'patch', 'daemonset', 'kube-proxy', '--patch-file', file);
}

/** There is no kubelet, and no controller that counts Pods. */
async function setPods(all: number, updated: number): Promise<void> {
  const counts = {
    currentNumberScheduled: all,
    desiredNumberScheduled: all,
    numberReady: all,
    numberMisscheduled: 0,
    updatedNumberScheduled: updated,
  };
  const patch = JSON.stringify({ status: counts });
  const target = ['daemonset', 'kube-proxy', '--subresource=status', '--type=merge', '-p', patch];
  await run(...inSystem, 'patch', ...target);
}

test('the wrapper cannot be deleted while a kube-proxy is pointed at it', async () => {
  await setPods(3, 0);
  await pointKubeProxy('point-kube-proxy');
  const what = '3 Pods of DaemonSet kube-proxy may use the wrapper. Point kube-proxy back first';
  await said(wrapper, (text) => text.includes(what));
  for (const kind of ['clusterrole', 'clusterrolebinding']) {
    expect(await refusal(kind, 'kube-proxy-wrapper')).toContain(what);
  }
  expect(await refusal(...inSystem, 'serviceaccount', 'kube-proxy-wrapper')).toContain(what);
  expect(await refusal(...inSystem, 'configmap', 'kube-proxy-via-wrapper')).toContain(what);
  expect(await refusal('-k', 'manifests/overlays/kubeadm')).toContain(what);
});

test('it still cannot while Pods of before are left, and can when all are pointed back', async () => {
  await pointKubeProxy('point-kube-proxy-back');
  await setPods(3, 2);
  await said(wrapper, (text) => text.includes('1 Pods of DaemonSet kube-proxy may use'));
  await setPods(3, 3);
  await said(['-k', 'manifests/overlays/kubeadm'], (text) => text === '');
});

test('a canary and settings of before can be deleted at any time', async () => {
  await pointKubeProxy('point-kube-proxy');
  await said(wrapper, (text) => text !== '');
  await run(...inSystem, 'create', 'configmap', 'kube-proxy-wrapper-5f2k');
  expect(await refusal(...inSystem, 'configmap', 'kube-proxy-wrapper-5f2k')).toBe('');
});
