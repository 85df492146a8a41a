import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { createNode } from './support/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from './support/control-plane.ts';
import { createPlacedService } from './support/placed-service.ts';
import { PROGRAM } from './support/program.ts';
import { runCommand } from './support/run-command.ts';
import { startWrappedNode, type WrappedNode, waitForBackends } from './support/wrapped-node.ts';

jest.setTimeout(180_000);

const NEAR = '10.244.1.5:8080';
const FAR = '10.244.1.6:8080';

let plane: ControlPlane;
let target: string;

beforeAll(async () => {
  plane = await startControlPlane();
  const { admin } = plane;
  await createNode(admin, 'near', { site: 'a' });
  await createNode(admin, 'far', { site: 'b' });
  const options = { name: 'web', annotations: { topologyKeys: '["site","*"]' } };
  ({ target } = await createPlacedService(admin, options, [
    { at: NEAR, node: 'near' },
    { at: FAR, node: 'far' },
  ]));
});

afterAll(async () => await plane?.stop());

/** Runs check in the node's namespace to its end. */
async function check(
  { netns }: WrappedNode,
  ...args: string[]
): Promise<{ code: number; out: string }> {
  const script = `"$@"; echo "code $?"`;
  const all = [netns.name, 'sh', '-c', script, 'sh', process.execPath, PROGRAM, 'check', ...args];
  const text = await runCommand('ip', ['netns', 'exec', ...all]);
  const [, out = '', code = ''] = /^(.*)code (\d+)\n$/s.exec(text) ?? [];
  return { code: Number(code), out };
}

test.each(['nftables', 'iptables'] as const)(
  'check finds nothing wrong once a stock kube-proxy (%s) works through the wrapper, and rules that are not those of the view',
  async (mode) => {
    const node = await startWrappedNode({ plane, nodeName: `here-${mode}`, labels: { site: 'a' } });
    try {
      const { netns } = node;
      await node.startKubeProxy({ version: '1.36.3', mode });
      await waitForBackends(netns, mode, { [target]: [NEAR] });
      const server = plane.serverAt(netns.hostAddress);
      const kubeconfig = plane.kubeconfig('wrapper', { server });
      const { code, out } = await check(node, '--kubeconfig', kubeconfig);
      expect(out).toMatch(/\[ok\] +connection +kube-proxy \(pid \d+\) is connected to port 10360/);
      expect(out).toMatch(new RegExp(`\\[ok\\] +kernel +${mode}: all \\d+ Service addresses`));
      expect(out).toMatch(/\[ok\] +identity/);
      expect([code, out]).toEqual([0, expect.stringContaining('no problem found')]);

      if (mode === 'nftables') await netns.exec('nft', ['delete', 'table', 'ip', 'kube-proxy']);
      else await netns.exec('iptables', ['-t', 'nat', '-F', 'KUBE-SERVICES']);
      const after = await check(node, '--wait', '0');
      expect(after.out).toMatch(/\[FAIL\] kernel .*default\/web .* is in no table/);
      expect(after.code).toBe(3);
    } finally {
      await node.stop();
    }
  },
);
