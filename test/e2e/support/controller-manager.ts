import { join } from 'node:path';
import { freePorts } from './free-port.ts';
import { getStatus } from './http-status.ts';
import { type ManagedProcess, startProcess, waitUntilReady } from './managed-process.ts';

export interface ControllerManagerOptions {
  readonly binary: string;
  readonly folder: string;
  readonly kubeconfig: string;
}

/** Starts the controllers that make Endpoints and EndpointSlices from Services and Pods. */
export async function startControllerManager(
  options: ControllerManagerOptions,
): Promise<ManagedProcess> {
  const { binary, folder, kubeconfig } = options;
  const [port = 0] = await freePorts(1);
  const process = startProcess({
    name: 'kube-controller-manager',
    command: binary,
    args: [
      `--kubeconfig=${kubeconfig}`,
      '--controllers=endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller',
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${join(folder, 'controller-manager')}`,
    ],
    logFile: join(folder, 'kube-controller-manager.log'),
  });
  try {
    const url = `https://127.0.0.1:${port}/healthz`;
    await waitUntilReady(process, async () => (await getStatus(url)) === 200);
  } catch (error) {
    await process.stop('SIGKILL');
    throw error;
  }
  return process;
}
