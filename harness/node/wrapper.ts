import { resolve } from 'node:path';
import type { NodeNetns } from '../network/node-netns.ts';
import { type ManagedProcess, waitUntilReady } from '../process/managed-process.ts';
import { isReadyForKubeProxy, PROGRAM, runArgs } from './program.ts';

export interface WrapperOptions {
  readonly netns: NodeNetns;
  /** Name of the node's Node object. */
  readonly nodeName: string;
  /** Path of the wrapper's own kubeconfig. */
  readonly kubeconfig: string;
  /** `--listen`. Default `127.0.0.1:10360`. */
  readonly listen?: string;
  /** `--admin-listen`. Default `127.0.0.1:10361`. */
  readonly adminListen?: string;
  /** Name of the process and of its log, so that several fit in one namespace. Default `wrapper`. */
  readonly name?: string;
  /** Path for `--config`. */
  readonly configFile?: string;
  /** The program. Default: {@link PROGRAM}. */
  readonly program?: string;
  /** A command that it is run by, such as `nsenter` with its flags. */
  readonly runBy?: readonly string[];
  /** Wait until a kube-proxy can connect. Default true. */
  readonly wait?: boolean;
}

/** The wrapper as its users run it. */
export interface Wrapper extends ManagedProcess {
  /** What kube-proxy's kubeconfig names as the server. */
  readonly url: string;
  /** URL of its health, metrics and explain pages, inside the namespace. */
  readonly adminUrl: string;
}

/** Starts the wrapper inside the namespace. */
export async function startWrapper(options: WrapperOptions): Promise<Wrapper> {
  const { netns, nodeName, kubeconfig, configFile, wait = true } = options;
  const { program = PROGRAM, runBy = [] } = options;
  const { listen = '127.0.0.1:10360', adminListen = '127.0.0.1:10361', name = 'wrapper' } = options;
  const adminUrl = `http://${adminListen}`;
  const flags = { kubeconfig, nodeName, listen, adminListen, configFile };
  const [command = '', ...args] = [...runBy, process.execPath, program, ...runArgs(flags)];
  const managed = netns.spawn({
    name,
    command,
    args,
    logFile: resolve(netns.folder, `${name}.log`),
  });
  const isReady = async () => isReadyForKubeProxy(await netns.httpGet(`${adminUrl}/readyz`));
  if (wait) await waitUntilReady(managed, isReady);
  return { ...managed, url: `http://${listen}`, adminUrl };
}
