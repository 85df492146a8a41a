import { type ControlPlane, startControlPlane } from '../api-server/control-plane.ts';

/** An API server on which nothing of ours is installed. */
export async function startBarePlane(): Promise<ControlPlane> {
  const plane = await startControlPlane({
    // As kubeadm has it, for its kube-proxy.
    apiServerArgs: ['--allow-privileged=true'],
  });
  // The role that the end-to-end tests give the wrapper has the name of ours.
  await plane.admin.delete('/apis/rbac.authorization.k8s.io/v1/clusterroles/kube-proxy-wrapper');
  return plane;
}
