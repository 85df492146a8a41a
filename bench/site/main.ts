/**
 * What the nodes of one site cost the API server, with a relay and without: bytes over the link until all are synced that
 * start together, and in an hour with changes; connections; memory; and how much later an event arrives through a relay.
 *
 *   node bench/site/main.ts [--nodes 10] [--services 2000] [--seconds 30]
 *
 * 50 nodes and 10,000 Services need 12 GB of memory.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import {
  type ControlPlane,
  startControlPlane,
  testUsers,
} from '../../harness/api-server/control-plane.ts';
import { getStatus } from '../../harness/api-server/http-status.ts';
import { makeServingCert, type ServingCert } from '../../harness/api-server/serving-cert.ts';
import { freePorts } from '../../harness/network/free-port.ts';
import {
  type ManagedProcess,
  startProcess,
  waitUntilReady,
} from '../../harness/process/managed-process.ts';
import { startTcpRelay, type TcpRelay } from '../../test/support/http/tcp-relay.ts';
import { ensureWrapper } from '../wrapper.ts';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '10' },
    services: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '30' },
  },
});
const [nodes, services, seconds] = [values.nodes, values.services, values.seconds].map(Number) as [
  number,
  number,
  number,
];
const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const NOT_HEADLESS = `labelSelector=${encodeURIComponent('!service.kubernetes.io/headless')}`;
const SERVICES_WITH_IP = new URLSearchParams({
  labelSelector: '!service.kubernetes.io/service-proxy-name',
  fieldSelector: 'spec.clusterIP!=None',
});
const CHANGES_PER_SECOND = 10;
/** Fifty wrappers that start together share two cores. */
const READY_MS = 900_000;

const plane = await startControlPlane({
  apiServerArgs: ['--service-cluster-ip-range=10.64.0.0/12'],
  auditRules: [{ level: 'Metadata', users: [testUsers.wrapper] }, { level: 'None' }],
});
try {
  const program = await ensureWrapper(undefined);
  await createObjects(plane);
  const cert = await makeServingCert(plane.folder, 'relay', ['127.0.0.1']);
  const direct = await measureSite(program, undefined);
  const relayed = await measureSite(program, cert);
  console.log(JSON.stringify({ nodes, services, seconds, direct, relayed }, undefined, 2));
  for (const key of ['start', 'hour', 'connections', 'watches'] as const) {
    console.log(`${key}: ${(relayed[key] / direct[key]).toFixed(3)}`);
  }
} finally {
  await plane.stop();
}

async function createObjects({ admin }: ControlPlane): Promise<void> {
  for (let n = 0; n < nodes; n++) {
    const name = `edge-${n}`;
    const labels = { 'kubernetes.io/hostname': name, site: 'a' };
    await admin.create('/api/v1/nodes', { metadata: { name, labels } });
  }
  const create = async (n: number): Promise<void> => {
    const name = `web-${n}`;
    const annotations = { topologyKeys: '["site","*"]' };
    await admin.create('/api/v1/namespaces/default/services', {
      metadata: { name, annotations },
      spec: { ports: [{ name: 'http', port: 80 }] },
    });
    await admin.create(`/apis/discovery.k8s.io/v1/namespaces/default/endpointslices`, {
      metadata: { name, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
      endpoints: Array.from({ length: 10 }, (_, at) => ({
        addresses: [`10.${n >> 8}.${n & 255}.${at}`],
        conditions: { ready: true },
        nodeName: `edge-${at % nodes}`,
      })),
    });
  };
  for (let n = 0; n < services; n += 20) {
    await Promise.all(
      Array.from({ length: Math.min(20, services - n) }, (_, at) => create(n + at)),
    );
  }
}

async function measureSite(program: string, cert: ServingCert | undefined) {
  const link = await startTcpRelay(plane.server);
  const running: ManagedProcess[] = [];
  const since = Date.now();
  try {
    const relay = cert && (await startRelay(program, link, cert, running));
    const started = performance.now();
    await Promise.all(
      Array.from({ length: nodes }, (_, n) => startNode(program, link, n, cert, relay, running)),
    );
    const startSeconds = (performance.now() - started) / 1000;
    // Views open a while after the start, and node sets after them.
    await sleep(10_000);
    const start = link.received / 1e6;
    // A node more than one has read from the API server itself.
    const listed = { user: testUsers.wrapper, since, verb: 'list', resource: 'endpointslices' };
    const lists = plane.requests(listed).length;
    const before = [link.received, performance.now()] as const;
    await changeSlices(undefined);
    const hours = (performance.now() - before[1]) / 3_600_000;
    const hour = (link.received - before[0]) / 1e6 / hours;
    const connections = link.open;
    const open = { user: testUsers.wrapper, since, verb: 'watch', open: true } as const;
    const watches = plane.requests(open).length;
    const relayMB = relay && (await rssOf(running[0])) / 1e6;
    const ofWrappers = await Promise.all(running.slice(-nodes).map(rssOf));
    const wrapperMB = median(ofWrappers) / 1e6;
    const measured = {
      startSeconds,
      start,
      lists,
      hour,
      connections,
      watches,
      relayMB,
      wrapperMB,
    };
    if (relay === undefined) return measured;
    // On this machine all wrappers would share the CPU with the relay. Their watches remain.
    await Promise.all(running.splice(1).map((each) => each.stop('SIGKILL')));
    return { ...measured, addedMs: await changeSlices(relay) };
  } finally {
    await Promise.all(running.map((each) => each.stop('SIGKILL')));
    await link.close();
  }
}

async function startRelay(
  program: string,
  link: TcpRelay,
  { certFile, keyFile }: ServingCert,
  running: ManagedProcess[],
): Promise<string> {
  const [port = 0, admin = 0] = await freePorts(2);
  const https = { listen: `127.0.0.1:${port}`, certFile, keyFile };
  const adminListen = `127.0.0.1:${admin}`;
  const settings = { nodeName: 'relay', https, adminListen };
  await startProgram({ program, command: 'relay', link, settings, running, adminListen });
  return `https://127.0.0.1:${port}`;
}

async function startNode(
  program: string,
  link: TcpRelay,
  n: number,
  cert: ServingCert | undefined,
  relay: string | undefined,
  running: ManagedProcess[],
): Promise<void> {
  const [port = 0, admin = 0] = await freePorts(2);
  const adminListen = `127.0.0.1:${admin}`;
  const settings = {
    nodeName: `edge-${n}`,
    listen: `127.0.0.1:${port}`,
    adminListen,
    ...(cert && relay ? { relays: { servers: [relay], caFile: cert.certFile } } : {}),
  };
  await startProgram({ program, command: 'run', link, settings, running, adminListen });
  // What a kube-proxy reads; the wrapper would open the same 30 s later.
  const services = `/api/v1/services?${SERVICES_WITH_IP}`;
  for (const path of [services, `${SLICES}?${NOT_HEADLESS}`]) {
    const url = `http://127.0.0.1:${port}${path}`;
    const accept = 'application/vnd.kubernetes.protobuf';
    while ((await fetch(url, { headers: { accept } })).status !== 200) await sleep(200);
  }
}

async function startProgram(options: {
  readonly program: string;
  readonly command: 'run' | 'relay';
  readonly link: TcpRelay;
  readonly settings: { readonly nodeName: string };
  readonly running: ManagedProcess[];
  readonly adminListen: string;
}): Promise<void> {
  const { program, command, link, settings, running, adminListen } = options;
  const folder = join(plane.folder, `${command}-${settings.nodeName}`);
  mkdirSync(folder, { recursive: true });
  const config = join(folder, 'settings.json');
  writeFileSync(config, JSON.stringify(settings));
  const kubeconfig = plane.kubeconfig('wrapper', { server: link.url });
  const process_ = startProcess({
    name: folder,
    // On a site each wrapper has a machine of its own. Here the relay must not wait for all of them.
    command: 'nice',
    args: [
      ...['-n', command === 'run' ? '0' : '-10', process.execPath],
      ...[program, command, '--kubeconfig', kubeconfig, '--config', config],
    ],
    logFile: join(folder, 'log'),
  });
  running.push(process_);
  const ready = async () => (await getStatus(`http://${adminListen}/readyz`)) === 200;
  await waitUntilReady(process_, ready, READY_MS);
}

/**
 * Changes slices at a steady rate. Resolves with the median delay that the relay adds to them for one of as many watches as
 * there are nodes, in milliseconds.
 */
async function changeSlices(relay: string | undefined): Promise<number> {
  const arrivals = [new Map<string, number>(), new Map<string, number>()] as const;
  const ends: (() => void)[] = [];
  if (relay !== undefined) {
    const version = await listSlices(relay);
    for (let n = 1; n < nodes; n++) ends.push(await watch(relay, version, undefined));
    ends.push(await watch(relay, version, arrivals[1]));
    ends.push(await watch(plane.server, version, arrivals[0]));
  }
  for (let n = 0; n < seconds * CHANGES_PER_SECOND; n++) {
    const path = `${SLICES.replace('v1/', 'v1/namespaces/default/')}/web-${n % services}`;
    await plane.admin.patch(path, { metadata: { annotations: { turn: `${Date.now()}` } } });
    await sleep(1000 / CHANGES_PER_SECOND - 5);
  }
  await sleep(1_000);
  for (const end of ends) end();
  const added = [...arrivals[1]].flatMap(([version, at]) => at - (arrivals[0].get(version) ?? at));
  return median(added);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

async function getSlices(server: string, query: string) {
  const headers = { authorization: `Bearer ${plane.tokens.wrapper}`, accept: 'application/json' };
  const connect = { rejectUnauthorized: false };
  const dispatcher = new Agent({ connect, bodyTimeout: 0, headersTimeout: 0, allowH2: false });
  const url = `${server}${SLICES}?${NOT_HEADLESS}&${query}`;
  const { statusCode, body } = await request(url, { headers, dispatcher });
  if (statusCode !== 200) throw new Error(`${url}: ${statusCode} ${await body.text()}`);
  return { body, end: () => void dispatcher.destroy() };
}

/** Resolves with the version of a list. */
async function listSlices(server: string): Promise<string> {
  const { body, end } = await getSlices(server, 'resourceVersion=0');
  const { metadata } = (await body.json()) as { metadata: { resourceVersion: string } };
  end();
  return metadata.resourceVersion;
}

/** Notes when each version arrives in a watch of all slices, or only reads it. Resolves with how to end that. */
async function watch(
  server: string,
  from: string,
  arrivals: Map<string, number> | undefined,
): Promise<() => void> {
  const { body, end } = await getSlices(server, `watch=true&resourceVersion=${from}`);
  const follow = async (): Promise<void> => {
    for await (const chunk of body.setEncoding('utf8')) {
      if (arrivals === undefined) continue;
      const at = performance.now();
      for (const [, version] of String(chunk).matchAll(/"resourceVersion":"(\d+)"/g)) {
        if (version !== undefined && !arrivals.has(version)) arrivals.set(version, at);
      }
    }
  };
  // It ends when the agent is destroyed.
  follow().catch(() => {});
  return end;
}

async function rssOf(of: ManagedProcess | undefined): Promise<number> {
  const status = await readFile(`/proc/${of?.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
}
