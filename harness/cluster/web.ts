import { writeFileSync } from 'node:fs';
import type { KubeObject } from '../api-server/api.ts';
import { poll } from '../poll.ts';
import type { Cluster } from './cluster.ts';
import { POD_IMAGE } from './images.ts';

/** How often each node answered, by its name; a failure in brackets, such as `(refused)`. */
export type Answers = Readonly<Record<string, number>>;

export type Web = Awaited<ReturnType<typeof createWeb>>;

const NAME = 'web';
const CLUSTER_IP = '10.96.0.80';
const PORT = 8080;
const STATIC_POD = '/etc/kubernetes/manifests/web.yaml';

/**
 * A test server on each node, and a Service of them. The same Pods are the clients. Creates the Pods and the Service,
 * and waits until each node has a ready Pod.
 *
 * @param by what the Pods come from; default: a DaemonSet
 */
export async function createWeb(
  cluster: Cluster,
  topologyKeys?: readonly string[],
  by: 'DaemonSet' | 'static Pods' = 'DaemonSet',
) {
  const { admin } = cluster;
  if (by === 'DaemonSet') {
    await admin.create('/apis/apps/v1/namespaces/default/daemonsets', daemonSet());
  } else {
    for (const node of cluster.nodes) writeFileSync(node.hostPath(STATIC_POD), staticPod());
  }
  await admin.create('/api/v1/namespaces/default/services', service(topologyKeys));
  const pods = async () =>
    await admin.list(`/api/v1/namespaces/default/pods?labelSelector=app%3D${NAME}`);
  const podOn = async (node: string) => {
    const found = (await pods()).find(
      ({ spec, metadata }) => spec.nodeName === node && !('deletionTimestamp' in metadata),
    );
    if (found === undefined) throw new Error(`there is no Pod ${NAME} on ${node}`);
    return found.metadata.name;
  };
  await poll(pods, (all) => all.filter(isReady).length === cluster.nodes.length, {
    timeoutMs: 180_000,
    intervalMs: 200,
    what: 'a ready Pod on each node',
  });
  const ask = async (node: string, path: string) =>
    await admin.create(
      `/api/v1/namespaces/default/pods/${await podOn(node)}:${PORT}/proxy/${path}`,
      {} as KubeObject,
    );
  const nodeNames = cluster.nodes.map(({ name }) => name);
  const url = `http://${CLUSTER_IP}/`;
  const dialFrom = async (node: string, count = 8) => {
    const command = ['/pod', 'dial', url, String(count)];
    return byNode(JSON.parse(await cluster.node(node).execInPod(await podOn(node), command)));
  };
  const setReady = async (node: string, ready: boolean) =>
    void (await ask(node, `set-ready?ready=${ready}`));
  const reaches = async (node: string, nodes: readonly string[]) => {
    const expected = [...nodes].sort().join();
    await poll(
      async () => await dialFrom(node, 8 * nodes.length),
      (answers) => Object.keys(answers).sort().join() === expected,
      { timeoutMs: 120_000, intervalMs: 50, what: `${node} reaches ${expected}` },
    );
  };
  return {
    url,
    /** Name of the Pod on a node. */
    podOn,
    /** Connects from the Pod of a node to the Service. It needs no API server. */
    dialFrom,
    /** Switches the readiness of the Pod on a node. */
    setReady,
    /** Since when each Pod is as ready as it is, by its name. */
    readySince: async () =>
      Object.fromEntries(
        (await pods()).map((pod) => [pod.metadata.name, readyCondition(pod)?.lastTransitionTime]),
      ),
    /** Waits until requests from a node's Pod are answered by these nodes, by each at least once and by no other. */
    reaches,
    /** The same from each node: all nodes answer. */
    spreads: async () => {
      for (const name of nodeNames) await reaches(name, nodeNames);
    },
    /** The same from each node: only the node itself answers. */
    stays: async () => {
      for (const name of nodeNames) await reaches(name, [name]);
    },
    /**
     * Requests from the Pods of nodes to the Service each 20 ms while something happens. Resolves with how often each
     * node answered, for each of them.
     */
    underLoad: async (nodes: readonly string[], during: () => Promise<unknown>) => {
      const start = `load/start?everyMs=20&url=${encodeURIComponent(url)}`;
      for (const node of nodes) await ask(node, start);
      await during();
      const stopped = nodes.map(async (node) => {
        const { answers } = (await ask(node, 'load/stop')) as unknown as { answers: Answers };
        return byNode(answers);
      });
      return await Promise.all(stopped);
    },
    /** Changes the readiness of the Pod on edge-1 there and back, which only a served kube-proxy follows. */
    followsChanges: async () => {
      await setReady('edge-1', false);
      await reaches('edge-1', ['edge-2']);
      await setReady('edge-1', true);
      await reaches('edge-1', ['edge-1']);
    },
  };
}

export function isReady(pod: KubeObject): boolean {
  return readyCondition(pod)?.status === 'True';
}

function readyCondition({ status }: KubeObject) {
  const conditions = (status?.conditions ?? []) as Record<string, string>[];
  return conditions.find(({ type }) => type === 'Ready');
}

/**
 * How long a new Pod that hangs is watched, in milliseconds: longer than it takes to be ready, and than a slow machine
 * takes to make the Pod before end.
 */
export const HUNG_MS = 25_000;

/** For how long the container of a Pod has run, in milliseconds. */
export function ranMs(pod: KubeObject | undefined): number {
  const startedAt = pod?.status?.containerStatuses?.[0]?.state?.running?.startedAt;
  return startedAt === undefined ? 0 : Date.now() - Date.parse(startedAt);
}

/** Answers are `<node>/<pod>`. */
function byNode(answers: Answers): Answers {
  const counts: Record<string, number> = {};
  for (const [answer, count] of Object.entries(answers)) {
    const node = answer.startsWith('(') ? answer : (answer.split('/')[0] ?? '');
    counts[node] = (counts[node] ?? 0) + count;
  }
  return counts;
}

function daemonSet(): KubeObject {
  const { metadata, spec } = podTemplate();
  return {
    metadata: { name: NAME },
    spec: { selector: { matchLabels: metadata.labels }, template: { metadata, spec } },
  };
}

/** JSON is YAML. */
function staticPod(): string {
  const { metadata, spec } = podTemplate();
  const named = { ...metadata, name: NAME, namespace: 'default' };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: named, spec });
}

function podTemplate() {
  const env = [
    { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ];
  const container = {
    name: NAME,
    image: POD_IMAGE,
    args: ['serve', String(PORT)],
    env,
    readinessProbe: {
      httpGet: { path: '/ready', port: PORT },
      periodSeconds: 1,
      // A busy machine answers late, and then other nodes would answer requests.
      timeoutSeconds: 10,
      failureThreshold: 1,
    },
  };
  return {
    metadata: { labels: { app: NAME } },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      tolerations: [{ operator: 'Exists' }],
      containers: [container],
    },
  };
}

function service(topologyKeys: readonly string[] | undefined): KubeObject {
  const annotations: Record<string, string> =
    topologyKeys === undefined ? {} : { topologyKeys: JSON.stringify(topologyKeys) };
  return {
    metadata: { name: NAME, annotations },
    spec: {
      selector: { app: NAME },
      clusterIP: CLUSTER_IP,
      ports: [{ port: 80, targetPort: PORT }],
    },
  };
}
