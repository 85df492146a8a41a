/** Starts a cluster to look at, with as many nodes as the argument says (default 3), until Ctrl-C. */
import { once } from 'node:events';
import { startCluster } from './support/cluster.ts';

const count = Number(process.argv[2] ?? 3);
const nodeNames = Array.from({ length: count }, (_, index) => `edge-${index + 1}`);
const before = performance.now();
const cluster = await startCluster({ nodeNames });
console.log(
  `up in ${Math.round((performance.now() - before) / 1_000)} s; logs are in ${cluster.folder}`,
);
console.log(`export KUBECONFIG=${cluster.kubeconfig} PATH=${cluster.folder}/bin:$PATH`);
await once(process, 'SIGINT');
await cluster.stop();
