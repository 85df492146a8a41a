import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { KubeObject } from '../../harness/api-server/api.ts';
import {
  createNode,
  createService,
  createSlice,
} from '../../harness/api-server/cluster-objects.ts';
import { type ServingFiles, writeServingFiles } from '../../harness/certificates.ts';
import { freePorts } from '../../harness/network/free-port.ts';
import { startUrlFront, type UrlFront } from '../../harness/network/tcp-front.ts';
import { withCleanups } from '../../harness/with-cleanups.ts';
import type { Bench } from '../bench.ts';
import type { MeasuredWrapper } from '../wrapper.ts';

/** How many relays a site has at most. */
const RELAYS = 2;
/** Of the relays, in the namespace `default`. */
const RELAY_SERVICE = 'relay';
/** An object that is on all nodes, and changes when it is to be seen that a node has the newest state. */
const MARK_SERVICE = 'mark';
export const SITE_KEY = 'bench.example/site';
export const ZONE_KEY = 'topology.kubernetes.io/zone';

/** A site of a cluster: its nodes find their relays by the Service of these, and each has a token of its own. */
export interface Site {
  /** What its relays, and what its nodes themselves, receive from the API server. */
  readonly link: Readonly<Record<'relays' | 'nodes', UrlFront>>;
  /** The authority of the relays, and their name. */
  readonly caFile: string;
  readonly servername: string;
  /** Of nodes, by their number. */
  readonly tokens: readonly string[];
  /** The address of a relay on this machine, for a node that does not look it up: each relay has one of its own. */
  relayHost(number: number): string;
  relayUrl(number: number): string;
  /** MB (10⁶ bytes) that all have received so far. */
  received(): number;
  startRelay(number?: number): Promise<MeasuredWrapper>;
  /** A real node, as it starts in the boot with this id, with a folder for its snapshots. */
  startNode(number: number, bootId?: string): Promise<MeasuredWrapper>;
  /** Changes the mark. Returns what nodes now show that have the newest state, and its version. */
  mark(): Promise<{ readonly address: string; readonly version: string }>;
  stop(): Promise<void>;
}

/** As the measuring client names the nodes of the first site. */
export function nodeName(number: number): string {
  return `node-0-${number}`;
}

/** Makes the Service of the relays, which are not started yet, and `count` identities of nodes. */
export async function createSite(bench: Bench, count: number): Promise<Site> {
  const { plane } = bench;
  return await withCleanups(async (cleanups) => {
    const link = {
      relays: await startUrlFront(plane.server),
      nodes: await startUrlFront(plane.server),
    };
    for (const front of Object.values(link)) cleanups.defer(async () => await front.close());
    const servername = `${RELAY_SERVICE}.default.svc`;
    const files = await writeServingFiles(plane.folder, servername);
    const ports = await freePorts(RELAYS);
    await createServices(bench, ports[0] ?? 0);
    await createNodes(bench, count);
    const tokens = await createTokens(bench, 'bench-node', count);
    const running = new Set<MeasuredWrapper>();
    cleanups.defer(async () => {
      await Promise.all([...running].map(async (each) => await each.stop()));
    });
    const track = (started: MeasuredWrapper): MeasuredWrapper => {
      running.add(started);
      return started;
    };
    let marks = 0;
    return {
      link,
      caFile: files.caFile,
      servername,
      tokens,
      relayHost: (number: number) => `127.0.0.${number + 1}`,
      relayUrl: (number: number) => `https://127.0.0.${number + 1}:${ports[number]}`,
      received: () => (link.relays.received + link.nodes.received) / 1e6,
      startRelay: async (number = 0) =>
        track(await bench.start(relayStart(link.relays.url, ports[number] ?? 0, files))),
      startNode: async (number: number, bootId = 'before the power cut') =>
        track(
          await bench.start({
            server: link.nodes.url,
            nodeName: nodeName(number),
            token: tokens[number],
            relays: { service: `default/${RELAY_SERVICE}`, caFile: files.caFile },
            boot: { id: bootId, stateDir: join(plane.folder, `state-${number}`) },
          }),
        ),
      mark: async () => await putMark(bench, ++marks),
    };
  });
}

function relayStart(server: string, port: number, { certFile, keyFile }: ServingFiles) {
  // The nodes reach it at an address of this machine that is not loopback, because no slice may have such a one.
  return { server, relay: { listen: `0.0.0.0:${port}`, certFile, keyFile } };
}

/** They are made once: two sites of a run are the same one. */
async function createServices({ plane: { admin } }: Bench, port: number): Promise<void> {
  const services = '/api/v1/namespaces/default/services';
  const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
  for (const name of [RELAY_SERVICE, MARK_SERVICE]) {
    await admin.delete(`${services}/${name}`);
    await admin.delete(`${slices}/${name}`);
  }
  const ports = [{ name: 'https', port, protocol: 'TCP' }];
  const annotations = { topologyKeys: JSON.stringify([SITE_KEY]) };
  await createService(admin, {
    name: RELAY_SERVICE,
    annotations,
    ports: [{ name: 'https', port }],
  });
  const endpoint = {
    addresses: [ownAddress()],
    nodeName: nodeName(0),
    conditions: { ready: true },
  };
  const relays = { name: RELAY_SERVICE, service: RELAY_SERVICE, ports, endpoints: [endpoint] };
  await createSlice(admin, relays);
  await createService(admin, { name: MARK_SERVICE, ports: [{ name: 'http', port: 80 }] });
  const mark = { name: MARK_SERVICE, service: MARK_SERVICE, ports, endpoints: [markEndpoint(0)] };
  await createSlice(admin, mark);
}

/** The cluster may have fewer nodes at this site. */
async function createNodes({ plane: { admin } }: Bench, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await ifNew(createNode(admin, nodeName(n), { [SITE_KEY]: 'site-0', [ZONE_KEY]: 'zone-0' }));
  }
}

const markAddress = (marks: number) => `203.0.113.${marks + 100}`;

function markEndpoint(marks: number) {
  return { addresses: [markAddress(marks)], conditions: { ready: true } };
}

async function putMark({ plane: { admin } }: Bench, marks: number) {
  const path = `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/${MARK_SERVICE}`;
  const { metadata } = await admin.patch(path, { endpoints: [markEndpoint(marks)] });
  return { address: markAddress(marks), version: metadata.resourceVersion ?? '' };
}

function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const own = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (own === undefined) throw new Error('this machine needs an IPv4 address beside loopback');
  return own.address;
}

/** Makes a ServiceAccount that may read what wrappers read, and so many tokens of it, as its Pods have them. */
export async function createTokens(
  { plane: { admin } }: Bench,
  name: string,
  count: number,
): Promise<string[]> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  const accounts = '/api/v1/namespaces/kube-system/serviceaccounts';
  await ifNew(admin.create(accounts, { metadata: { name } }));
  for (const role of ['kube-proxy-wrapper', 'system:node-proxier']) {
    await ifNew(
      admin.create(rbac, {
        metadata: { name: `${name}:${role}` },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        subjects: [{ kind: 'ServiceAccount', namespace: 'kube-system', name }],
      }),
    );
  }
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const tokens: string[] = [];
  while (tokens.length < count) {
    const made = await admin.create(`${accounts}/${name}/token`, {
      ...request,
      metadata: { name: '' },
    });
    tokens.push(made.status.token as string);
  }
  return tokens;
}

async function ifNew(creating: Promise<KubeObject>): Promise<void> {
  await creating.catch((error: unknown) => {
    if (!(error instanceof Error && 'status' in error && error.status === 409)) throw error;
  });
}
