import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { kubeconfigFor } from '../../../fake-apiserver/kubeconfig.ts';
import { closedLater } from '../closed-later.ts';
import { startServer } from '../http/http-server.ts';
import { passOn } from '../http/pass-on.ts';
import { useFolder } from '../use-folder.ts';
import { acceptWebSocket, type ServerWebSocket } from './accept-web-socket.ts';

/** A Pod as the API server lists it: ready, in the namespace kube-system, and made long ago. */
export interface FakePod {
  readonly name: string;
  readonly node: string;
  readonly ready?: boolean;
  readonly created?: string;
  readonly deleted?: boolean;
  readonly namespace?: string;
  /** Name of its DaemonSet; default: it has none. */
  readonly daemonSet?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** URL of what listens at its admin port; default: nothing does. */
  readonly adminUrl?: string | undefined;
  /** What the kubelet reports instead of a connection; `silence`: no answer at all, as on a node without power. */
  readonly forwardError?: string;
  /** Other fields. */
  readonly spec?: object;
  readonly status?: object;
}

/**
 * An API server in memory with what it does not have: the Pods of wrappers, and port-forward as a kubelet serves it.
 * All other requests go to the API server in memory.
 */
export interface RemoteCluster {
  readonly kubeconfig: string;
  /** URL of the API server with Pods, and of the one in memory. */
  readonly url: string;
  readonly upstream: string;
  pods: FakePod[];
  kubeProxies: FakePod[];
  /** Answers requests whose path begins with the key by this status. */
  readonly refusals: Map<string, number>;
  /** Port-forwards ever opened, `<pod> <port>`, and the most that were open at once. */
  readonly forwards: string[];
  readonly mostForwards: number;
  /** Port-forwards that are open now, those included that are not answered. */
  readonly openForwards: number;
  /** Forgets all Pods, refusals and port-forwards. */
  reset(): void;
}

/** Starts one that is closed later; see {@link closedLater}. */
export async function useRemoteCluster(server: ApiServer): Promise<RemoteCluster> {
  const upstream = await server.listen();
  const sockets = new Set<ServerWebSocket>();
  const unanswered = new Set<Duplex>();
  const counts = { most: 0 };
  const started = await startServer((request, response) => {
    answer(cluster, upstream, request, response);
  });
  const front = closedLater(started);
  const cluster: RemoteCluster = {
    kubeconfig: join(useFolder(), 'kubeconfig'),
    url: front.url.href,
    upstream,
    pods: [],
    kubeProxies: [],
    refusals: new Map(),
    forwards: [],
    get mostForwards() {
      return counts.most;
    },
    get openForwards() {
      return sockets.size + unanswered.size;
    },
    reset() {
      cluster.pods = [];
      cluster.kubeProxies = [];
      cluster.refusals.clear();
      cluster.forwards.length = 0;
      counts.most = 0;
    },
  };
  front.server.on('upgrade', (request, socket, head) => {
    const path = request.url ?? '';
    const status = refusalOf(cluster, path);
    if (status !== undefined) {
      const body = statusBody(status, /pods\/([^/]+)/.exec(path)?.[1]);
      socket.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      return;
    }
    const [, name = '', port = ''] = /pods\/([^/]+)\/portforward\?ports=(\d+)/.exec(path) ?? [];
    cluster.forwards.push(`${name} ${port}`);
    const pod = cluster.pods.find((each) => each.name === name);
    if (pod?.forwardError === 'silence') {
      unanswered.add(socket.resume().once('end', () => socket.end()));
      socket.once('close', () => unanswered.delete(socket));
      return;
    }
    acceptWebSocket(request, socket, head, (webSocket) => {
      sockets.add(webSocket);
      counts.most = Math.max(counts.most, sockets.size);
      webSocket.once('close', () => sockets.delete(webSocket));
      forward(webSocket, Number(port), pod);
    });
  });
  await writeFile(cluster.kubeconfig, kubeconfigFor(front.url.href));
  return cluster;
}

/** The two channels of a kubelet: each begins with the number of the port. */
function forward(socket: ServerWebSocket, port: number, pod: FakePod | undefined): void {
  const { adminUrl, forwardError } = pod ?? {};
  const portBytes = Buffer.alloc(2);
  portBytes.writeUInt16LE(port);
  for (const channel of [0, 1]) socket.send(Buffer.concat([Buffer.of(channel), portBytes]));
  if (adminUrl === undefined || forwardError !== undefined) {
    socket.send(Buffer.concat([Buffer.of(1), Buffer.from(forwardError ?? 'connection refused')]));
    socket.close();
    return;
  }
  const { port: real, hostname } = new URL(adminUrl);
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
      .map(podObject)
      .filter(({ spec }) => node === undefined || node === (spec.nodeName ?? ''))
      .filter(({ metadata }) => namespace === undefined || namespace === metadata.namespace);
    json(200, JSON.stringify({ kind: 'PodList', metadata: {}, items }));
  } else passOn(upstream, request, response);
}

function refusalOf({ refusals }: RemoteCluster, path: string): number | undefined {
  return [...refusals].find(([start]) => path.startsWith(start))?.[1];
}

/** 200 comes from another program. */
function statusBody(code: number, pod = 'x'): string {
  if (code === 200) return '<html>';
  const message =
    code === 403
      ? `pods "${pod}" is forbidden: User "u" cannot do this: 403`
      : `refused on purpose: ${code}`;
  return JSON.stringify({ kind: 'Status', code, message });
}

function podObject(pod: FakePod) {
  const { name, node, ready = true, daemonSet } = pod;
  return {
    metadata: {
      namespace: pod.namespace ?? 'kube-system',
      name,
      labels: pod.labels ?? {},
      ownerReferences: daemonSet === undefined ? [] : [{ kind: 'DaemonSet', name: daemonSet }],
      creationTimestamp: pod.created ?? '2026-01-01T00:00:00Z',
      ...(pod.deleted && { deletionTimestamp: '2026-01-02T00:00:00Z' }),
    },
    spec: { nodeName: node, ...pod.spec },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      ...pod.status,
    },
  };
}
