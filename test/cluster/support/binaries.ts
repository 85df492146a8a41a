import {
  type Binaries,
  ensureBinaries,
  ensureBinary,
  kubernetes,
} from '../../e2e/support/binaries.ts';
import { ensureOsPackages } from '../../e2e/support/os-packages.ts';

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
    kubelet: await ensureBinary(kubernetes('kubelet', '1.36.3'), report),
    kubeScheduler: await ensureBinary(kubernetes('kube-scheduler', '1.36.3'), report),
    podProgram: await ensureBinary(
      {
        name: 'cluster-pod',
        version: '1',
        module: '../cluster/pod-program',
        target: '.',
        flags: [],
        ldflags: '-s -w',
      },
      report,
    ),
  };
}
