import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiServer } from '../../../../harness/api-server/api-server.ts';
import { createNode } from '../../../../harness/api-server/cluster-objects.ts';
import type { ControlPlane } from '../../../../harness/api-server/control-plane.ts';
import { makeServingCert } from '../../../../harness/api-server/serving-cert.ts';
import { issue, makeAuthority } from '../../../../harness/certificates.ts';
import { freePorts } from '../../../../harness/network/free-port.ts';
import type { NodeNetns } from '../../../../harness/network/node-netns.ts';
import type { TcpFault } from '../../../../harness/network/tcp-front.ts';
import { withCleanups } from '../../../../harness/with-cleanups.ts';
import type { ActiveFault } from '../active-fault.ts';
import { FaultFront, type FrontOptions } from '../fault-front.ts';
import { startRelays } from '../recovery/relays.ts';
import { SELF, WrapperUnderTest } from '../wrapper-under-test.ts';
import { startStateDisk } from './state-disk.ts';

/** Where clients connect to behind their fronts, by http and by https. */
const CLIENTS = ['127.0.0.1:10370', '127.0.0.1:10371'] as const;
/** Ports of the wrapper's http, https and admin listeners. */
const LISTEN = 10_360;
const HTTPS = 10_362;
const ADMIN = 10_361;
/** A window that some clients fall out of, and bookmarks often. */
const VIEW_BOUNDS = {
  window: { entries: 60, bytes: 20_000 },
  bookmarkMs: 2_000,
  idleViewMs: 300_000,
};

/** The wrapper is back at a relay after this time, in milliseconds, not after a minute. */
const RETURN_MS = 15_000;

interface FaultNodeOptions {
  readonly plane: ControlPlane;
  readonly netns: NodeNetns;
  readonly labels: Readonly<Record<string, string>>;
  /** Of the fronts; undefined: there are none. */
  readonly protocols: FrontOptions['protocols'] | undefined;
  /** Between the wrapper and the first front, or the API server; default: none. */
  readonly relays?: number | undefined;
  /** Without fronts: another API server of the plane, which the wrapper prefers. */
  readonly preferred?: ApiServer | undefined;
  /** Of the wrapper; default: as in its settings. */
  readonly logLevel?: string | undefined;
}

/** A node on which all connections of the wrapper can fail, in both directions. */
export type FaultNode = Awaited<ReturnType<typeof startFaultNode>>;

export async function startFaultNode(options: FaultNodeOptions) {
  return await withCleanups((started) => startParts(options, started));
}

async function startParts(
  { plane, netns, labels, protocols, relays: count = 0, preferred, logLevel }: FaultNodeOptions,
  started: AsyncDisposableStack,
) {
  const disk = await startStateDisk(netns.folder);
  started.defer(() => disk.stop());
  const authority = await makeAuthority();
  const host = netns.hostAddress;
  const backend = { origin: plane.server, ca: readFileSync(plane.caFile, 'utf8') };
  const fronts: FaultFront[] = [];
  while (protocols !== undefined && fronts.length < 2) {
    const [port = 0, innerPort = 0] = await freePorts(2);
    const certificate = await issue(authority, 'api-server', host);
    const front = new FaultFront({ host, port, innerPort, certificate, backend, protocols });
    await front.start();
    started.defer(() => front.stop());
    fronts.push(front);
  }
  await createNode(plane.admin, SELF, labels, netns.address);
  const { certFile, keyFile } = await makeServingCert(netns.folder, 'wrapper', ['127.0.0.1']);
  const origins = fronts.map(({ url }) => url);
  if (preferred !== undefined) origins.push(`https://${host}:${preferred.port}`);
  if (protocols === undefined) origins.push(plane.serverAt(host));
  const authorities = [preferred, plane].flatMap((one) =>
    one === undefined ? [] : [readFileSync(one.caFile, 'utf8')],
  );
  const ca = protocols === undefined ? authorities.join('') : authority.cert;
  const caFile = join(netns.folder, 'servers.crt');
  writeFileSync(caFile, ca);
  const token = plane.tokens.wrapper;
  const front = fronts[0] ?? { url: plane.serverAt(host) };
  const api = () => plane.admin;
  const relays = await startRelays(count, front, {
    folder: netns.folder,
    caFile,
    host,
    token,
    api,
  });
  started.defer(() => relays.stop());
  const [server = '', ...servers] = origins;
  const https = { listen: `127.0.0.1:${HTTPS}`, certFile, keyFile };
  const wrapper = new WrapperUnderTest({
    folder: netns.folder,
    listenPort: LISTEN,
    adminPort: ADMIN,
    server,
    ca,
    token,
    settings: { servers, https, logLevel, ...relays.settings },
    viewBounds: count === 0 ? VIEW_BOUNDS : { ...VIEW_BOUNDS, returnMs: RETURN_MS },
    place: {
      start: netns.spawn,
      get: netns.httpGet,
      state: { inside: `${disk.folder}/state`, outside: `${disk.seenFrom}/state` },
      runBy: disk.runBy,
    },
  });
  started.defer(() => wrapper.stop('SIGKILL'));
  wrapper.start();
  await netns.relay(CLIENTS[0], `127.0.0.1:${LISTEN}`);
  await netns.relay(CLIENTS[1], https.listen);
  return {
    netns,
    /** Where the last known state is kept. */
    disk,
    wrapper,
    relays: relays.all,
    /** Issues the certificates of the fronts. */
    authority,
    /** The addresses of the API server; the one that the wrapper uses comes first. */
    fronts: async () => {
      const used = await wrapper.server();
      const isUsed = ({ url }: FaultFront) => Number(url.endsWith(`//${used}`));
      return fronts.toSorted((one, other) => isUsed(other) - isUsed(one));
    },
    /** URL of the wrapper for clients. */
    url: protocols === undefined ? wrapper.url : `http://${CLIENTS[0]}`,
    /** The same by https. */
    https: { url: `https://${CLIENTS[1]}`, caFile: certFile },
    harmClients: async (fault: TcpFault) => await harmClients(netns, fault),
    /** Resets the connections of clients; resolves with how many. */
    cutClients: async () => await askClients((endpoint) => netns.ask({ op: 'cut', endpoint })),
    /** Packets of clients vanish. */
    dropPackets: async () => await dropPackets(netns),
  };
}

/** Resolves with the sum of what both fronts of clients answer. */
async function askClients(ask: (endpoint: string) => Promise<unknown>): Promise<number> {
  const counts = await Promise.all(CLIENTS.map(ask));
  return counts.reduce<number>((sum, count) => sum + Number(count), 0);
}

async function harmClients(netns: NodeNetns, fault: TcpFault): Promise<ActiveFault> {
  const put = async (what: TcpFault | null) =>
    await askClients((endpoint) => netns.ask({ op: 'fault', endpoint, fault: what }));
  await put(fault);
  let harmed = 0;
  return {
    hits: () => harmed,
    end: async () => {
      harmed = await put(null);
    },
  };
}

const TABLE = 'kpw_faults';

/** Not by tc: the loopback of a namespace has no queue to drop from. */
async function dropPackets(netns: NodeNetns): Promise<ActiveFault> {
  const ports = CLIENTS.map((endpoint) => endpoint.split(':')[1]).join(', ');
  const rules = `table inet ${TABLE} {
  chain input {
    type filter hook input priority -300;
    tcp dport { ${ports} } counter drop
    tcp sport { ${ports} } counter drop
  }
}
`;
  await netns.exec('nft', ['-f', '-'], rules);
  let dropped = 0;
  return {
    hits: () => dropped,
    end: async () => {
      const list = await netns.exec('nft', ['list', 'table', 'inet', TABLE]);
      await netns.exec('nft', ['delete', 'table', 'inet', TABLE]);
      const counts = Array.from(list.matchAll(/counter packets (\d+)/g), ([, count]) => count);
      dropped = counts.reduce((sum, count) => sum + Number(count), 0);
    },
  };
}
