import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { KubeObject } from './support/api.ts';
import { createNode, createService, createSlice } from './support/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from './support/control-plane.ts';
import { startKubeProxy } from './support/kube-proxy.ts';
import { PROGRAM } from './support/program.ts';
import { runCommand } from './support/run-command.ts';
import { startWrappedNode, type WrappedNode, waitForBackends } from './support/wrapped-node.ts';

jest.setTimeout(180_000);

const NEAR = '10.244.1.5:8080';
const FAR = '10.244.1.6:8080';

let plane: ControlPlane;
let web: KubeObject;

beforeAll(async () => {
  plane = await startControlPlane();
  const { admin } = plane;
  await createNode(admin, 'near', { site: 'a' });
  await createNode(admin, 'far', { site: 'b' });
  web = await createService(admin, {
    name: 'web',
    annotations: { topologyKeys: '["site","*"]' },
    ports: [{ port: 80, targetPort: 8080 }],
  });
  await createSlice(admin, {
    name: 'web-1',
    service: 'web',
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    endpoints: [
      { addresses: ['10.244.1.5'], nodeName: 'near', conditions: { ready: true } },
      { addresses: ['10.244.1.6'], nodeName: 'far', conditions: { ready: true } },
    ],
  });
});

afterAll(async () => {
  await plane?.stop();
});

/** Runs a command of the wrapper in the node's namespace to its end. */
async function command(
  node: WrappedNode,
  ...args: string[]
): Promise<{ code: number; out: string }> {
  const script = `"$@"; echo "code $?"`;
  const all = [node.netns.name, 'sh', '-c', script, 'sh', process.execPath, PROGRAM, ...args];
  const text = await runCommand('ip', ['netns', 'exec', ...all]);
  const [, out = '', code = ''] = /^(.*)code (\d+)\n$/s.exec(text) ?? [];
  return { code: Number(code), out };
}

describe.each(['nftables', 'iptables'] as const)(
  'the commands beside a stock kube-proxy (%s)',
  (mode) => {
    let node: WrappedNode;

    beforeAll(async () => {
      node = await startWrappedNode({ plane, nodeName: `here-${mode}`, labels: { site: 'a' } });
      await node.netns.addEndpoints([NEAR, FAR]);
    });

    afterAll(async () => {
      await node?.stop();
    });

    test('check reports that there is no client before kube-proxy connects', async () => {
      const { code, out } = await command(node, 'check', '--wait', '0');
      expect(code).toBe(3);
      expect(out).toMatch(
        /\[FAIL\] kube-proxy +no kube-proxy has used this wrapper since it started/,
      );
      expect(out).toContain('next: set server: http://127.0.0.1:10360');
    });

    test('check finds nothing wrong once kube-proxy works through the wrapper', async () => {
      await node.startKubeProxy({ version: '1.36.3', mode });
      await waitForBackends(node.netns, mode, { [`${web.spec.clusterIP}:80`]: [NEAR] });
      const kubeconfig = plane.kubeconfig('wrapper', {
        server: plane.serverAt(node.netns.hostAddress),
      });
      const { code, out } = await command(node, 'check', '--kubeconfig', kubeconfig);
      expect(out).toMatch(/\[ok\] +connection +kube-proxy \(pid \d+\) is connected to port 10360/);
      expect(out).toMatch(new RegExp(`\\[ok\\] +kernel +${mode}: all \\d+ Service addresses`));
      expect(out).toMatch(/\[ok\] +identity/);
      expect([code, out]).toEqual([0, expect.stringContaining('no problem found')]);
    });

    test('check sees rules in the kernel that are not those of the view', async () => {
      if (mode === 'nftables')
        await node.netns.exec('nft', ['delete', 'table', 'ip', 'kube-proxy']);
      else await node.netns.exec('iptables', ['-t', 'nat', '-F', 'KUBE-SERVICES']);
      const { code, out } = await command(node, 'check', '--wait', '0');
      expect([code, out]).toEqual([
        3,
        expect.stringMatching(/\[FAIL\] kernel .*default\/web .* is in no table/),
      ]);
    });
  },
);

test('check sees a kube-proxy that goes past the wrapper', async () => {
  const node = await startWrappedNode({ plane, nodeName: 'past', labels: { site: 'a' } });
  const server = plane.serverAt(node.netns.hostAddress);
  const kubeProxy = await startKubeProxy({
    binaries: plane.binaries,
    netns: node.netns,
    nodeName: 'past',
    version: '1.36.3',
    mode: 'nftables',
    kubeconfig: plane.kubeconfig('kubeProxy', { server }),
  });
  try {
    const { code, out } = await command(node, 'check');
    expect(code).toBe(3);
    expect(out).toMatch(
      /\[FAIL\] connection +kube-proxy \(pid \d+\) is connected to \S+, past the wrapper/,
    );
  } finally {
    await kubeProxy.stop('SIGKILL');
    await node.stop();
  }
});
