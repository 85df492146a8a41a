import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type ControlPlane, startControlPlane } from '../../support/control-plane.ts';
import { eventually } from '../../support/eventually.ts';
import { expectedIpvs, readApiState } from './ipvs-model.ts';
import { type IpvsNode, startIpvsNode } from './ipvs-node.ts';
import { type Machine, startMachine } from './machine.ts';
import { backendsOfIpvs } from './parse-ipvs.ts';

/** A control plane, and the node edge1 of site a with real IPVS in a machine. Its wrapper hides cloud-only Services. */
export interface IpvsScene {
  readonly plane: ControlPlane;
  readonly machine: Machine;
  readonly edge1: IpvsNode;
  /**
   * Waits until the node sends new connections to a virtual server (`TCP 10.96.0.1:80`) to just these `ip:port`
   * (sorted; undefined: it has no such virtual server). Then, until the node has just the virtual servers, real servers
   * and addresses on kube-ipvs0 that the model computes from all objects of the API.
   */
  expectBackends(server: string, wanted: readonly string[] | undefined): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts all, with a kube-proxy that has written its tables. Takes half a minute.
 *
 * @param prepare makes the API objects that must exist before the wrapper starts.
 */
export async function startIpvsScene(
  prepare: (plane: ControlPlane) => Promise<void>,
): Promise<IpvsScene> {
  const [started, booted] = await Promise.allSettled([startControlPlane(), startMachine()]);
  const plane = started.status === 'fulfilled' ? started.value : undefined;
  const machine = booted.status === 'fulfilled' ? booted.value : undefined;
  let edge1: IpvsNode | undefined;
  const stop = async () => {
    await edge1?.stop();
    await machine?.stop();
    await plane?.stop();
  };
  try {
    if (plane === undefined || machine === undefined) {
      throw started.status === 'rejected'
        ? started.reason
        : (booted as PromiseRejectedResult).reason;
    }
    await prepare(plane);
    const configFile = join(plane.folder, 'wrapper-settings.yaml');
    await writeFile(configFile, 'cloud:\n  mode: passthrough\n');
    const how = { plane, machine, nodeName: 'edge1', labels: { site: 'a' }, configFile };
    const node = await startIpvsNode(how);
    edge1 = node;
    await node.startKubeProxy();
    const expectBackends = async (server: string, wanted: readonly string[] | undefined) => {
      const found = async () => backendsOfIpvs((await node.readTables()).ipvs).get(server);
      await waitForEqual(node, found, async () => wanted);
      await waitForEqual(
        node,
        async () => {
          const { ipvs, addresses } = await node.readTables();
          return { backends: backendsOfIpvs(ipvs), addresses };
        },
        async () => expectedIpvs(await readApiState(plane.admin), 'edge1'),
      );
    };
    return { plane, machine, edge1: node, expectBackends, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Waits until there is no difference. If one lasts too long, the error shows kube-proxy's log. */
async function waitForEqual(
  { kubeProxy }: IpvsNode,
  find: () => Promise<unknown>,
  want: () => Promise<unknown>,
): Promise<void> {
  const compare = async () => ({ found: await find(), wanted: await want() });
  try {
    // Emulated, and maybe on a slow or busy machine: kube-proxy's first table has taken 19 s on an idle one.
    const options = { timeoutMs: 240_000, intervalMs: 100, what: 'IPVS without a difference' };
    await eventually(compare, ({ found, wanted }) => isDeepStrictEqual(found, wanted), options);
  } catch (error) {
    const text = `kube-proxy says:\n${await kubeProxy().log()}`;
    throw new Error(`${(error as Error).message}\n${text}`, { cause: error });
  }
}
