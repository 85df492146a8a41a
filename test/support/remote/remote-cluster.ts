import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiServer } from '../../../embedded/api-server.ts';
import { kubeconfigFor } from '../../../embedded/kubeconfig.ts';
import type { Admin } from '../../../src/admin/admin.ts';
import type { RawSettings } from '../../../src/config/settings.ts';
import type { NodeProxy } from '../../../src/proxy/node-proxy.ts';
import { startServer, type TestServer } from '../http/http-server.ts';
import { startTestAdmin } from '../wrapper/admin-fixture.ts';
import { startWrapper } from '../wrapper/wrapper-fixture.ts';
import { ServerWebSocket } from './server-web-socket.ts';

interface Crash {
  readonly reason: string;
  readonly end?: string;
  readonly last: string;
  /** Default: it waits to be started again. */
  readonly moment?: 'ended' | 'starts';
}

/** A Pod as the API server lists it. */
export interface FakePod {
  readonly name: string;
  readonly node: string;
  readonly ready?: boolean;
  readonly created?: string;
  readonly phase?: string;
  readonly deleted?: boolean;
  /** Default: kube-system. */
  readonly namespace?: string;
  /** Name of its DaemonSet; default: it has none. */
  readonly daemonSet?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Content of its own ConfigMap, which has its name; default: it mounts that of the cluster. */
  readonly config?: string;
  /** Why its container does not run, why it ended before (default: Error), and its last words. */
  readonly crash?: Crash;
  /** Why its first init container does not run. */
  readonly init?: string;
  /** A kube-proxy that is pointed at the wrapper. */
  readonly pointed?: boolean;
  /** Why the scheduler does not place it on its node. */
  readonly unschedulable?: string;
}

/**
 * An API server in memory with what it does not have: the Pods of wrappers, their ConfigMap, and port-forward as a
 * kubelet serves it. The wrappers are real. All other requests go to the API server in memory.
 */
export interface RemoteCluster {
  readonly kubeconfig: string;
  readonly server: ApiServer;
  readonly pods: FakePod[];
  readonly kubeProxies: FakePod[];
  /** Content of the ConfigMap that the Pods mount. */
  config: string;
  /** Name of that ConfigMap. */
  configMap: string;
  /** Answers requests whose path begins with the key by this status. */
  readonly refusals: Map<string, number>;
  /** What the kubelet reports instead of a connection, by Pod. */
  readonly forwardErrors: Map<string, string>;
  /** Port-forwards ever opened, `<pod> <port>`, and the most that were open at once. */
  readonly forwards: string[];
  readonly mostForwards: number;
  /** Port-forwards that are open now. */
  readonly openForwards: number;
  /** Starts a wrapper and its Pod `wrapper-<node>`. */
  startWrapper(node: string, raw?: RawSettings): Promise<NodeProxy>;
  close(): Promise<void>;
}

export async function startRemoteCluster(server: ApiServer): Promise<RemoteCluster> {
  const upstream = await server.listen();
  const folder = await mkdtemp(join(tmpdir(), 'kpw-remote-'));
  const admins = new Map<string, Admin>();
  const proxies: NodeProxy[] = [];
  const sockets = new Set<ServerWebSocket>();
  const counts = { most: 0 };
  const front: TestServer = await startServer((request, response) => {
    answer(cluster, upstream, request, response);
  });
  const cluster: RemoteCluster = {
    kubeconfig: join(folder, 'kubeconfig'),
    server,
    pods: [],
    kubeProxies: [],
    config: '{}',
    configMap: 'kube-proxy-wrapper',
    refusals: new Map(),
    forwardErrors: new Map(),
    forwards: [],
    get mostForwards() {
      return counts.most;
    },
    get openForwards() {
      return sockets.size;
    },
    async startWrapper(node, raw = {}) {
      const proxy = await startWrapper(upstream, {}, { ...raw, nodeName: node });
      const admin = await startTestAdmin(proxy);
      for (const path of ['/apis/discovery.k8s.io/v1/endpointslices', '/api/v1/services']) {
        await fetch(proxy.url + path);
      }
      proxies.push(proxy);
      admins.set(`wrapper-${node}`, admin);
      cluster.pods.push({ name: `wrapper-${node}`, node });
      return proxy;
    },
    async close() {
      for (const socket of sockets) socket.terminate();
      for (const admin of admins.values()) await admin.close();
      for (const proxy of proxies) await proxy.close();
      await front.close();
      await server.close();
      await rm(folder, { recursive: true });
    },
  };
  front.server.on('upgrade', (request, socket, head) => {
    const path = request.url ?? '';
    const status = refusalOf(cluster, path);
    if (status !== undefined) {
      const body = statusBody(status);
      socket.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      return;
    }
    // A kubelet knows this version, and not the newest that the client offers.
    const webSocket = new ServerWebSocket(request, socket, head, 'v4.channel.k8s.io');
    sockets.add(webSocket);
    counts.most = Math.max(counts.most, sockets.size);
    webSocket.once('close', () => sockets.delete(webSocket));
    const [, pod = '', port = ''] = /pods\/([^/]+)\/portforward\?ports=(\d+)/.exec(path) ?? [];
    cluster.forwards.push(`${pod} ${port}`);
    forward(webSocket, Number(port), {
      ...(admins.get(pod) && { url: `${admins.get(pod)?.url}` }),
      error: cluster.forwardErrors.get(pod),
    });
  });
  await writeFile(cluster.kubeconfig, kubeconfigFor(front.url.href));
  return cluster;
}

/** The two channels of a kubelet: each begins with the number of the port. */
function forward(
  socket: ServerWebSocket,
  port: number,
  target: { url?: string; error: string | undefined },
): void {
  const portBytes = Buffer.alloc(2);
  portBytes.writeUInt16LE(port);
  for (const channel of [0, 1]) socket.send(Buffer.concat([Buffer.of(channel), portBytes]));
  if (target.error !== undefined || target.url === undefined) {
    socket.send(Buffer.concat([Buffer.of(1), Buffer.from(target.error ?? 'connection refused')]));
    socket.close();
    return;
  }
  const { port: real, hostname } = new URL(target.url);
  const tcp = connect(Number(real), hostname);
  tcp.on('data', (data) => {
    socket.send(Buffer.concat([Buffer.of(0), data]));
  });
  tcp.once('close', () => socket.close());
  tcp.on('error', () => socket.terminate());
  socket.on('message', (data: Buffer) => {
    if (data[0] === 0) tcp.write(data.subarray(1));
  });
  socket.once('close', () => tcp.destroy());
}

function answer(
  cluster: RemoteCluster,
  upstream: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x');
  const status = refusalOf(cluster, request.url ?? '');
  const json = (code: number, body: string) =>
    response.writeHead(code, { 'content-type': 'application/json' }).end(body);
  if (status !== undefined) json(status, statusBody(status));
  else if (/^\/api\/v1\/(namespaces\/[^/]+\/)?pods$/.test(pathname)) {
    const [, namespace] = /namespaces\/([^/]+)/.exec(pathname) ?? [];
    const node = searchParams.get('fieldSelector')?.replace('spec.nodeName=', '');
    const selector = searchParams.get('labelSelector');
    const pods = [
      ...(selector === 'app.kubernetes.io/name=kube-proxy-wrapper' ? cluster.pods : []),
      ...(selector === 'k8s-app in (kube-proxy,kube-proxy-via-wrapper)' ? cluster.kubeProxies : []),
    ];
    const items = pods
      .filter((pod) => node === undefined || pod.node === node)
      .filter((pod) => namespace === undefined || namespace === (pod.namespace ?? 'kube-system'))
      .map((pod) => podObject(pod, cluster.configMap));
    json(200, JSON.stringify({ kind: 'PodList', metadata: {}, items }));
  } else if (pathname.startsWith('/api/v1/namespaces/kube-system/pods/')) {
    const pod = cluster.pods.find(({ name }) => pathname.endsWith(`/${name}`)) as FakePod;
    json(200, JSON.stringify(podObject(pod, cluster.configMap)));
  } else if (pathname === `${CONFIG_MAPS}/${encodeURIComponent(cluster.configMap)}`) {
    json(200, JSON.stringify({ data: { 'config.yaml': cluster.config } }));
  } else if (
    cluster.pods.some(({ name, config }) => config && pathname === `${CONFIG_MAPS}/${name}`)
  ) {
    const own = cluster.pods.find(({ name }) => pathname.endsWith(`/${name}`)) as FakePod;
    json(200, JSON.stringify({ data: { 'config.yaml': own.config } }));
  } else {
    const { method, url, headers } = request;
    const onward = httpRequest(`${upstream}${url}`, { method, headers }, (found) => {
      response.writeHead(found.statusCode ?? 500, found.headers);
      found.pipe(response);
    });
    request.pipe(onward);
  }
}

function refusalOf({ refusals }: RemoteCluster, path: string): number | undefined {
  return [...refusals].find(([start]) => path.startsWith(start))?.[1];
}

function statusBody(code: number): string {
  return JSON.stringify({ kind: 'Status', code, message: `refused on purpose: ${code}` });
}

const CONFIG_MAPS = '/api/v1/namespaces/kube-system/configmaps';

function podObject(pod: FakePod, configMap: string) {
  const { name, ready = true, created, phase = 'Running', deleted, daemonSet } = pod;
  return {
    metadata: {
      namespace: pod.namespace ?? 'kube-system',
      name,
      labels: pod.labels ?? {},
      ...(daemonSet ? { ownerReferences: [{ kind: 'DaemonSet', name: daemonSet }] } : {}),
      creationTimestamp: created ?? '2026-01-01T00:00:00Z',
      ...(deleted ? { deletionTimestamp: '2026-01-02T00:00:00Z' } : {}),
    },
    spec: {
      ...placeOf(pod),
      containers: [
        {
          args: ['run', '--config=/etc/kube-proxy-wrapper/config.yaml'],
          volumeMounts: [{ name: 'config', mountPath: '/etc/kube-proxy-wrapper' }],
        },
      ],
      volumes: [
        { name: 'config', configMap: { name: pod.config ? name : configMap } },
        ...(pod.pointed
          ? [
              {
                name: 'kube-proxy',
                projected: { sources: [{ configMap: { name: 'kube-proxy-via-wrapper' } }] },
              },
            ]
          : []),
      ],
    },
    status: {
      phase,
      conditions: [
        { type: 'Ready', status: ready ? 'True' : 'False' },
        ...(pod.unschedulable === undefined
          ? []
          : [
              {
                type: 'PodScheduled',
                status: 'False',
                reason: 'Unschedulable',
                message: pod.unschedulable,
              },
            ]),
      ],
      containerStatuses: [
        {
          name: 'kube-proxy-wrapper',
          ready,
          state: stateOf(pod.crash),
          ...(pod.crash ? { lastState: { terminated: endOf(pod.crash) } } : {}),
        },
      ],
      initContainerStatuses: pod.init
        ? [{ name: 'own-state-dir', state: { waiting: { reason: pod.init } } }]
        : [],
    },
  };
}

function endOf({ end = 'Error', last }: Crash) {
  return { reason: end, message: last, exitCode: 1 };
}

function stateOf(crash: Crash | undefined) {
  if (crash === undefined) return { running: { startedAt: '2026-01-01T00:00:01Z' } };
  if (crash.moment === 'ended') return { terminated: endOf(crash) };
  if (crash.moment === 'starts') return { running: { startedAt: new Date().toISOString() } };
  return { waiting: { reason: crash.reason } };
}

/** As the controller of DaemonSets makes it, and then the scheduler. */
function placeOf({ node, unschedulable }: FakePod) {
  if (unschedulable === undefined) return { nodeName: node };
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }];
  const required = { nodeSelectorTerms: [{ matchFields }] };
  return {
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
  };
}
