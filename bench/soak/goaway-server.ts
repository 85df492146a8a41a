import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../harness/api-server/api.ts';
import { createNode, labelNode } from '../../harness/api-server/cluster-objects.ts';
import { startBenchPlane } from '../plane.ts';
import { labelsOf, NODE_NAME, NODES, SERVICES, serviceOf, sliceOf } from './churn.ts';
import type { SoakServer } from './soak-server.ts';

/** One request of 50 is answered with a GOAWAY as well, the most that kube-apiserver allows. */
const GOAWAY_CHANCE = 0.02;
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
/** Between two changes of a slice, and between two changes of the own node's site. */
const CHANGE_MS = 1_000;
const CHANGES_PER_SITE = 20;

/** A real kube-apiserver that ends connections while their requests go on. */
export async function startGoawayServer(): Promise<SoakServer> {
  const report = (line: string): void => void process.stderr.write(`${line}\n`);
  const plane = await startBenchPlane(report, [`--goaway-chance=${GOAWAY_CHANCE}`]);
  const { admin } = plane;
  await fill(admin);
  return {
    kubeconfig: readFileSync(plane.kubeconfig('wrapper'), 'utf8'),
    clients: ['followers', 'reopeners'],
    churn: (signal) => churn(admin, signal),
    close: plane.stop,
  };
}

async function fill(admin: ApiClient): Promise<void> {
  for (let node = 0; node < NODES; node++) await createNode(admin, `node-${node}`, labelsOf(node));
  for (let service = 0; service < SERVICES; service++) {
    await admin.create('/api/v1/namespaces/default/services', serviceOf(service));
    for (const letter of ['a', 'b']) await admin.create(SLICES, sliceOf(service, letter, 0));
  }
}

async function churn(admin: ApiClient, signal: AbortSignal): Promise<number> {
  let changes = 0;
  for (; !signal.aborted; changes++) {
    const { metadata, endpoints } = sliceOf(changes % SERVICES, 'a', changes);
    await admin.patch(`${SLICES}/${metadata.name}`, { endpoints });
    if (changes % CHANGES_PER_SITE === 0) {
      await labelNode(admin, NODE_NAME, { site: `site-${(changes / CHANGES_PER_SITE) % 5}` });
    }
    await sleep(CHANGE_MS);
  }
  await labelNode(admin, NODE_NAME, { site: 'site-0' });
  return changes;
}
