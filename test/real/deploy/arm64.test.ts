import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, jest, test } from '@jest/globals';
import { kubeconfigFor } from '../../../fake-apiserver/kubeconfig.ts';
import { ensureArm64Node, NODE_VERSION } from '../../../harness/deploy/arm64.ts';
import { layOutImage } from '../../../harness/deploy/image.ts';
import { repository } from '../../../harness/deploy/repository.ts';
import { send } from '../../../harness/hostile/http.ts';
import { freePorts } from '../../../harness/network/free-port.ts';
import { isReadyForKubeProxy } from '../../../harness/node/program.ts';
import { startProcess, waitUntilReady } from '../../../harness/process/managed-process.ts';
import { runCommand } from '../../../harness/process/run-command.ts';
import { closedLater } from '../../support/closed-later.ts';
import { useFolder } from '../../support/use-folder.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useCluster } from '../../support/wrapper/use.ts';

/** The program of the image on an arm64 Node under emulation: the image is built for arm64 too. */
let arm64: readonly [string, ...string[]];
let program: string;

jest.setTimeout(600_000);

beforeAll(async () => {
  arm64 = await ensureArm64Node();
  program = join(layOutImage(useFolder()).root, 'app/dist/main.js');
}, 300_000);

async function run(...args: readonly string[]): Promise<string> {
  const [command, ...first] = arm64;
  return await runCommand(command, [...first, ...args], { cwd: repository });
}

test('the emulated Node is for arm64, and of the version that the other tests use', async () => {
  const said = await run('-p', 'process.arch + " " + process.version');
  expect(said.trim()).toBe(`arm64 v${NODE_VERSION}`);
});

test('simulate shows the same on arm64 as here', async () => {
  const args = [program, 'simulate', '--from', 'demo/cluster.yaml', '--service', 'web'];
  const said = await run(...args);
  expect(said).toMatch(/^default\/web: .*3 endpoints$/m);
  expect(said).toBe(await runCommand(process.execPath, args, { cwd: repository }));
});

test('run on arm64 shows the endpoints of its node, and follows a change', async () => {
  const server = useCluster();
  const far = { ip: '10.0.0.2', node: 'edge-2' };
  putService(server, 'web', ['kubernetes.io/hostname', '*']);
  putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.1', node: 'edge-1' }, far]);
  const { wrapper, origin } = await startWrapper(await server.listen());
  const shown = async () => {
    const response = await fetch(`${origin}/apis/discovery.k8s.io/v1/endpointslices`);
    return [...(await response.text()).matchAll(/10[.]0[.]0[.]\d/g)].join();
  };
  await waitUntilReady(wrapper, async () => (await shown()) === '10.0.0.1');
  putSlice(server, 'web-1', 'web', [far]);
  await waitUntilReady(wrapper, async () => (await shown()) === '10.0.0.2');
  await wrapper.stop();
  expect(wrapper.ending()).toBe('code 0');
});

/** Starts `run` for edge-1 with a state folder, and waits until a kube-proxy can connect. */
async function startWrapper(apiServer: string) {
  const folder = useFolder();
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor(apiServer));
  const [port, adminPort] = await freePorts(2);
  const [command, ...first] = arm64;
  const flags = [`--kubeconfig=${kubeconfig}`, `--state-dir=${join(folder, 'state')}`];
  flags.push(`--listen=127.0.0.1:${port}`, `--admin-listen=127.0.0.1:${adminPort}`);
  const wrapper = startProcess({
    name: 'run on arm64',
    command,
    args: [...first, program, 'run', '--node-name=edge-1', ...flags],
    logFile: join(folder, 'log'),
  });
  closedLater({ close: async () => await wrapper.stop('SIGKILL') });
  const isReady = async () =>
    isReadyForKubeProxy(await send(`http://127.0.0.1:${adminPort}/readyz`));
  await waitUntilReady(wrapper, isReady);
  return { wrapper, origin: `http://127.0.0.1:${port}` };
}
