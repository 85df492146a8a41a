import { readFileSync } from 'node:fs';
import { createNode } from '../../../../harness/api-server/cluster-objects.ts';
import type { ControlPlane } from '../../../../harness/api-server/control-plane.ts';
import { makeServingCert } from '../../../../harness/api-server/serving-cert.ts';
import { freePorts } from '../../../../harness/network/free-port.ts';
import type { NodeNetns } from '../../../../harness/network/node-netns.ts';
import type { TcpFault } from '../../../../harness/network/tcp-front.ts';
import type { ViewBounds } from '../../../../src/config/view-bounds.ts';
import { issue, type KeyPair } from '../../../support/http/certificates.ts';
import type { ActiveFault } from '../active-fault.ts';
import { FaultFront, type FrontOptions } from '../fault-front.ts';
import { SELF, WrapperUnderTest } from '../wrapper-under-test.ts';
import { startStateDisk } from './state-disk.ts';

/** Where clients connect to, by http and by https. */
const CLIENTS = ['127.0.0.1:10370', '127.0.0.1:10371'] as const;
/** Ports of the wrapper's http, https and admin listeners. */
const LISTEN = 10_360;
const HTTPS = 10_362;
const ADMIN = 10_361;

interface FaultNodeOptions {
  readonly plane: ControlPlane;
  readonly netns: NodeNetns;
  /** Issues the certificate of the fronts. */
  readonly authority: KeyPair;
  readonly labels: Readonly<Record<string, string>>;
  readonly viewBounds: ViewBounds;
  readonly protocols: FrontOptions['protocols'];
}

/** A node on which all connections of the wrapper can fail, in both directions. */
export type FaultNode = Awaited<ReturnType<typeof startFaultNode>>;

export async function startFaultNode(options: FaultNodeOptions) {
  const { plane, netns, authority } = options;
  const disk = await startStateDisk(netns.folder);
  const fronts: FaultFront[] = [];
  let wrapper: WrapperUnderTest | undefined;
  const stop = async () => {
    await wrapper?.stop('SIGKILL');
    for (const front of fronts) await front.stop();
    await disk.stop();
  };
  try {
    for (let server = 0; server < 2; server++) fronts.push(await startFront(options));
    await createNode(plane.admin, SELF, options.labels, netns.address);
    const { certFile, keyFile } = await makeServingCert(netns.folder, 'wrapper', ['127.0.0.1']);
    const [first, second] = fronts;
    wrapper = new WrapperUnderTest({
      folder: netns.folder,
      listenPort: LISTEN,
      adminPort: ADMIN,
      server: first?.url ?? '',
      ca: authority.cert,
      token: plane.tokens.wrapper,
      settings: {
        servers: [second?.url],
        https: { listen: `127.0.0.1:${HTTPS}`, certFile, keyFile },
      },
      viewBounds: options.viewBounds,
      place: {
        start: netns.spawn,
        status: async (url) => (await netns.httpGet(url))?.status,
        state: { inside: `${disk.folder}/state`, outside: `${disk.seenFrom}/state` },
        runBy: disk.runBy,
      },
    });
    wrapper.start();
    await netns.relay(CLIENTS[0], `127.0.0.1:${LISTEN}`);
    await netns.relay(CLIENTS[1], `127.0.0.1:${HTTPS}`);
    return {
      netns,
      /** Where the last known state is kept. */
      disk,
      wrapper,
      /** The addresses of the API server; the one that the wrapper uses comes first. */
      fronts: async () => await sortFronts(netns, fronts),
      /** URL of the wrapper for clients. */
      url: `http://${CLIENTS[0]}`,
      /** The same by https. */
      https: { url: `https://${CLIENTS[1]}`, caFile: certFile },
      harmClients: async (fault: TcpFault) => await harmClients(netns, fault),
      /** Resets the connections of clients; resolves with how many. */
      cutClients: async () => await askClients(netns, 'cut'),
      /** Packets of clients vanish. */
      dropPackets: async () => await dropPackets(netns),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startFront({
  plane,
  netns,
  authority,
  protocols,
}: FaultNodeOptions): Promise<FaultFront> {
  const [port = 0, innerPort = 0] = await freePorts(2);
  const host = netns.hostAddress;
  const front = new FaultFront({
    host,
    port,
    innerPort,
    certificate: await issue(authority, 'api-server', host),
    backend: { origin: plane.server, ca: readFileSync(plane.caFile, 'utf8') },
    protocols,
  });
  await front.start();
  return front;
}

/** By the wrapper's metrics; in their order, if it does not say. */
async function sortFronts(
  netns: NodeNetns,
  fronts: readonly FaultFront[],
): Promise<readonly FaultFront[]> {
  const metrics = await netns.httpGet(`http://127.0.0.1:${ADMIN}/metrics`);
  const used = /upstream_server_in_use\{server="([^"]+)"\} 1$/m.exec(metrics?.body ?? '')?.[1];
  const isUsed = ({ url }: FaultFront) => Number(url.endsWith(`//${used}`));
  return fronts.toSorted((one, other) => isUsed(other) - isUsed(one));
}

async function askClients(netns: NodeNetns, op: 'cut' | 'harmed'): Promise<number> {
  const counts = CLIENTS.map(async (endpoint) => Number(await netns.ask({ op, endpoint })));
  return (await Promise.all(counts)).reduce((sum, each) => sum + each, 0);
}

async function harmClients(netns: NodeNetns, fault: TcpFault): Promise<ActiveFault> {
  for (const endpoint of CLIENTS) await netns.ask({ op: 'fault', endpoint, fault });
  let harmed = 0;
  return {
    hits: () => harmed,
    end: async () => {
      for (const endpoint of CLIENTS) await netns.ask({ op: 'fault', endpoint, fault: null });
      harmed = await askClients(netns, 'harmed');
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
