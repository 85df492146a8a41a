import {
  type Binaries,
  type Component,
  ensureBinaries,
  ensureBinary,
  kubernetes,
} from '../process/binaries.ts';
import { ensureOsPackages } from '../process/os-packages.ts';

/** Paths of the programs of a cluster. */
export interface ClusterBinaries extends Binaries {
  readonly kubelet: string;
  readonly kubeScheduler: string;
  /** What the Pods of the tests run; see ../pod-program. */
  readonly podProgram: string;
}

/** Installs the system's packages and builds the programs that are missing or out of date. */
export async function ensureClusterBinaries(
  report: (line: string) => void = () => {},
): Promise<ClusterBinaries> {
  await ensureOsPackages();
  await ensureOsPackages({
    containerd: 'containerd',
    ctr: 'containerd',
    runc: 'runc',
    '/usr/lib/cni/bridge': 'containernetworking-plugins',
    nsenter: 'util-linux',
    ldd: 'libc-bin',
  });
  return {
    ...(await ensureBinaries(report)),
    kubelet: await ensureBinary(ofNode('kubelet'), report),
    kubeScheduler: await ensureBinary(ofNode('kube-scheduler'), report),
    podProgram: await ensureBinary(
      {
        name: 'cluster-pod',
        version: '1',
        module: 'cluster/pod-program',
        target: '.',
        flags: [],
        ldflags: '-s -w',
      },
      report,
    ),
  };
}

/**
 * OpenYurt's cache in front of a kubelet. It takes 4 minutes of 2 cores, so only the tests before a release build it.
 */
export async function ensureYurtHub(): Promise<string> {
  return await ensureBinary({
    name: 'yurthub',
    version: '1.7.0',
    module: 'cluster/yurthub',
    target: 'github.com/openyurtio/openyurt/cmd/yurthub',
    flags: [],
    ldflags: '-s -w',
  });
}

/** These have a module of their own. So a change of it does not rebuild what the other suites use, and vice versa. */
function ofNode(name: string): Component {
  const component = kubernetes(name);
  return { ...component, module: `${component.module}-node` };
}
