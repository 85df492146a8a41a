/**
 * Starts a cluster to look at, with as many nodes as the argument says (default 3), until Ctrl-C: a stock kube-proxy as
 * kubeadm installs it, and a test server on each node behind the Service `web`.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { repository } from '../deploy/repository.ts';
import { startCluster } from './cluster.ts';
import { installKubeProxy, rolledOut } from './kube-proxy.ts';
import { createWeb } from './web.ts';
import { createWorkspace } from './workspace.ts';

const count = Number(process.argv[2] ?? 3);
const nodeNames = Array.from({ length: count }, (_, index) => `edge-${index + 1}`);
const before = performance.now();
const stopped = once(process, 'SIGINT');
const cluster = await startCluster({ nodeNames });
try {
  const workspace = createWorkspace(cluster, {
    'kubectl-kpw': join(repository, 'dist/kubectl-kpw.js'),
  });
  for (const node of cluster.nodes) {
    workspace.write(
      `bin/on-${node.name}`,
      `#!/bin/sh\nexec nsenter ${node.enter().join(' ')} "$@"\n`,
      0o755,
    );
  }
  await installKubeProxy(cluster, { mode: 'nftables' });
  await rolledOut(cluster, 'kube-proxy');
  await createWeb(cluster);
  const seconds = Math.round((performance.now() - before) / 1_000);
  console.log(`up in ${seconds} s; logs are in ${cluster.folder}`);
  console.log(`cd ${workspace.folder}    # manifests and chart, as docs/deployment.md uses them`);
  console.log(`export KUBECONFIG=${cluster.kubeconfig} PATH=${workspace.folder}/bin:$PATH`);
  console.log('on-edge-1 curl -s 127.0.0.1:10361/readyz    # a command on a node');
  console.log(
    'kubectl exec ds/web -- /pod dial http://10.96.0.80/ 8    # who answers the Service web',
  );
  await stopped;
} finally {
  await cluster.stop();
}
