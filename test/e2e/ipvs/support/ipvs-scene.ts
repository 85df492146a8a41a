import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type ControlPlane, startControlPlane } from '../../support/control-plane.ts';
import { eventually } from '../../support/eventually.ts';
import { expectedIpvs, readApiState } from './ipvs-model.ts';
import { type IpvsNode, startIpvsNode } from './ipvs-node.ts';
import { type Machine, startMachine } from './machine.ts';
import { backendsOfIpvs } from './parse-ipvs.ts';
import { readTables } from './read-tables.ts';

export interface IpvsSceneOptions {
  /** Labels of each node, by its name. Each gets a wrapper and a kube-proxy of its own. */
  readonly nodes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /**
   * Runs before the nodes start. It makes the API objects that must exist before a wrapper starts.
   */
  readonly prepare?: (plane: ControlPlane) => Promise<void>;
  /** The wrappers run with cloud.mode passthrough. Default false. */
  readonly cloudPassthrough?: boolean;
}

/** A control plane, and nodes with real IPVS in one machine. */
export interface IpvsScene {
  readonly plane: ControlPlane;
  readonly machine: Machine;
  node(name: string): IpvsNode;
  /**
   * Waits until each of these nodes sends new connections to a virtual server (`TCP 10.96.0.1:80`) to just these
   * `ip:port` (sorted; undefined: it has no such virtual server). Then, until the whole table of every node is
   * what the model computes; see {@link IpvsScene.settle}.
   *
   * @returns milliseconds until the first of the two was so.
   */
  expectBackends(
    server: string,
    wanted: Readonly<Record<string, readonly string[] | undefined>>,
  ): Promise<number>;
  /**
   * Waits until every node has just the virtual servers, real servers and addresses on kube-ipvs0 that the model
   * computes from all objects of the API.
   */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts all, with kube-proxies that have written their tables. Takes half a minute for three nodes. */
export async function startIpvsScene(options: IpvsSceneOptions): Promise<IpvsScene> {
  const [started, booted] = await Promise.allSettled([startControlPlane(), startMachine()]);
  const plane = started.status === 'fulfilled' ? started.value : undefined;
  const machine = booted.status === 'fulfilled' ? booted.value : undefined;
  const nodes: IpvsNode[] = [];
  const stop = async () => {
    for (const node of nodes) await node.stop();
    await machine?.stop();
    await plane?.stop();
  };
  try {
    if (plane === undefined || machine === undefined) {
      throw started.status === 'rejected'
        ? started.reason
        : (booted as PromiseRejectedResult).reason;
    }
    await options.prepare?.(plane);
    const { cloudPassthrough = false } = options;
    const configFile = join(plane.folder, 'wrapper-settings.yaml');
    const mode = cloudPassthrough ? 'passthrough' : 'endpoints';
    await writeFile(configFile, `cloud:\n  mode: ${mode}\n`);
    const starting = Object.entries(options.nodes).map(async ([nodeName, labels], index) => {
      const how = { plane, machine, nodeName, labels, number: index + 1 };
      const node = await startIpvsNode({ ...how, configFile });
      nodes.push(node);
      await node.startKubeProxy();
    });
    const failed = (await Promise.allSettled(starting)).find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
    return describeScene(plane, machine, nodes, cloudPassthrough, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

function describeScene(
  plane: ControlPlane,
  machine: Machine,
  nodes: readonly IpvsNode[],
  cloudPassthrough: boolean,
  stop: () => Promise<void>,
): IpvsScene {
  const node = (name: string) => {
    const found = nodes.find(({ nodeName }) => nodeName === name);
    if (found === undefined) throw new Error(`the scene has no node ${name}`);
    return found;
  };
  const settle = async () => {
    await waitForNothing(
      nodes,
      async () => await modelGaps(plane, machine, nodes, cloudPassthrough),
    );
  };
  return {
    plane,
    machine,
    node,
    expectBackends: async (server, wanted) => {
      const elapsedMs = await waitForNothing(nodes, async () => {
        const tables = await readTables(machine, Object.keys(wanted));
        return Object.entries(wanted).flatMap(([name, backends], index) => {
          const found = backendsOfIpvs(tables[index]?.ipvs ?? []).get(server);
          return isDeepStrictEqual(found, backends) ? [] : [{ name, server, found, backends }];
        });
      });
      await settle();
      return elapsedMs;
    },
    settle,
    stop,
  };
}

/** What is in no table, in one that it should not be in, or different: by node, found and wanted. */
async function modelGaps(
  plane: ControlPlane,
  machine: Machine,
  nodes: readonly IpvsNode[],
  cloudPassthrough: boolean,
): Promise<unknown[]> {
  const state = await readApiState(plane.admin);
  const names = nodes.map(({ nodeName }) => nodeName);
  const tables = await readTables(machine, names);
  return nodes.flatMap((node, index) => {
    const { ipvs = [], addresses } = tables[index] ?? {};
    const wanted = expectedIpvs(state, node, cloudPassthrough);
    const found = { backends: backendsOfIpvs(ipvs), addresses };
    return isDeepStrictEqual(found, wanted) ? [] : [{ node: node.nodeName, found, wanted }];
  });
}

/** Waits until there is no difference. If one lasts too long, the error shows the logs of the kube-proxies. */
async function waitForNothing(
  nodes: readonly IpvsNode[],
  gaps: () => Promise<unknown[]>,
): Promise<number> {
  try {
    // Emulated, and maybe on a slow or busy machine: kube-proxy's first table has taken 19 s on an idle one.
    const options = { timeoutMs: 240_000, intervalMs: 100, what: 'IPVS without a difference' };
    return (await eventually(gaps, (list) => list.length === 0, options)).elapsedMs;
  } catch (error) {
    const logs = nodes.map(async ({ nodeName, kubeProxy }) => {
      return `kube-proxy of ${nodeName} says:\n${await kubeProxy().log()}`;
    });
    const text = (await Promise.all(logs)).join('\n');
    throw new Error(`${(error as Error).message}\n${text}`, { cause: error });
  }
}
