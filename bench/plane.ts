import {
  type ControlPlane,
  startControlPlane,
  testUsers,
} from '../harness/api-server/control-plane.ts';
import { ensureBinaries } from '../harness/process/binaries.ts';

/**
 * Starts a control plane with room for many Services. Its audit log has all requests of those that are compared, the
 * ones for no resource among them, and of nobody else.
 *
 * @param progress gets a line for each program that has to be built.
 * @param apiServerArgs more flags of the API server
 */
export async function startBenchPlane(
  progress: (line: string) => void,
  apiServerArgs: readonly string[] = [],
): Promise<ControlPlane> {
  await ensureBinaries(progress);
  return await startControlPlane({
    // If a flag is given twice, the last one counts. The range of the harness has room for 65,000 Services.
    apiServerArgs: ['--service-cluster-ip-range=10.64.0.0/12', ...apiServerArgs],
    auditRules: [
      { level: 'Metadata', users: [testUsers.kubeProxy, testUsers.wrapper] },
      { level: 'None' },
    ],
  });
}
