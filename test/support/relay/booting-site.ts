import type { SeenRequest } from '../../../fake-apiserver/faults.ts';
import { type ServingFiles, writeServingFiles } from '../../../harness/certificates.ts';
import { freePorts } from '../../../harness/network/free-port.ts';
import type { ActiveTcpFault, UrlFront } from '../../../harness/network/tcp-front.ts';
import { poll } from '../../../harness/poll.ts';
import type { Relay } from '../../../src/relay/relay.ts';
import { useFolder } from '../use-folder.ts';
import { putNode, putService, putSlice } from '../wrapper/small-cluster.ts';
import { useCluster, useFront } from '../wrapper/use.ts';
import { addressOfChange, BootingNode } from './booting-node.ts';
import { credentialsFor, useRelayOf } from './relay-fixture.ts';

/** What gets power of its own: the link to the cloud, relays, nodes. */
export const PARTS = ['link', 'relay 0', 'relay 1', 'node 0', 'node 1', 'node 2'] as const;
export type Part = (typeof PARTS)[number];

const NODES = ['edge-1', 'edge-2', 'edge-4'] as const;
const SLICES = ['web-a', 'web-b'] as const;
/** How long a relay may be without the API server, in milliseconds. */
const SILENCE_MS = 300;
/** For a busy machine, in milliseconds. */
const SOON = { timeoutMs: 60_000, intervalMs: 5 };

/** A site of three nodes and two relays, which one link connects with an API server in memory. */
export class BootingSite {
  readonly nodes: readonly BootingNode[];
  readonly #cluster: ReturnType<typeof useCluster>;
  readonly #files: ServingFiles;
  readonly #link: UrlFront;
  readonly #port: number;
  readonly #relays: (Relay | undefined)[] = [];
  readonly #changes = new Map<string, number>();
  #change = 0;
  #boots = 0;
  #noLink: ActiveTcpFault | undefined;
  /** The last request of the API server before the power came. */
  #before: SeenRequest | undefined;

  /** All that it has is on, and well. */
  static async start(): Promise<BootingSite> {
    const cluster = useCluster({ bookmarkIntervalMs: 100, windowSize: 100_000 });
    putNode(cluster, 'edge-4', { site: 'a' });
    putService(cluster, 'web', ['site']);
    putService(cluster, 'relay', ['site']);
    const link = await useFront(await cluster.listen());
    const files = await writeServingFiles(useFolder(), 'relay.default.svc');
    const [port = 0] = await freePorts(1);
    const site = new BootingSite(cluster, files, link, port);
    for (const _ of SLICES) site.change();
    for (const part of PARTS) await site.turnOn(part, 0);
    await site.untilWell();
    return site;
  }

  private constructor(
    cluster: ReturnType<typeof useCluster>,
    files: ServingFiles,
    link: UrlFront,
    port: number,
  ) {
    this.#cluster = cluster;
    this.#files = files;
    this.#link = link;
    this.#port = port;
    const server = new URL(link.url);
    this.nodes = NODES.map((name) => new BootingNode(name, server, files.caFile));
    const endpoints = [0, 1].map((n) => ({ ip: hostOf(n), node: NODES[n] ?? '' }));
    putSlice(cluster, 'relay-1', 'relay', endpoints);
    const ports = [{ name: 'http', protocol: 'TCP', port }];
    cluster.patch('endpointslices', 'relay-1', { ports });
  }

  /** What was wrong with what nodes have shown so far. */
  get found(): string[] {
    return this.nodes.flatMap(({ found }) => found);
  }

  /** The API server changes one slice. */
  change(): void {
    const name = SLICES[this.#change % SLICES.length] ?? '';
    this.#change++;
    const ip = addressOfChange(this.#change);
    putSlice(this.#cluster, name, 'web', [{ ip, node: 'edge-2' }]);
    this.#changes.set(name, this.#change);
  }

  /** @param withSnapshot how long a node that has something to show waits for relays, in milliseconds */
  async turnOn(part: Part, withSnapshot: number): Promise<void> {
    const [kind, digit] = part.split(' ');
    const n = Number(digit);
    if (kind === 'link') await this.linkComes();
    else if (kind === 'relay') await this.#startRelay(n);
    else await this.nodes[n]?.turnOn(`boot-${this.#boots}`, { withSnapshot, without: 100 });
  }

  async linkComes(): Promise<void> {
    await this.#noLink?.end();
    this.#noLink = undefined;
  }

  async linkGoes(): Promise<void> {
    this.#noLink ??= await this.#link.begin({ kind: 'refuse' });
  }

  /** All that runs at the site ends at once. */
  async cutPower(): Promise<void> {
    const relays = this.#relays.splice(0);
    await Promise.all([
      ...this.nodes.map((node) => node.losePower()),
      ...relays.map((relay) => relay?.close()),
      this.linkGoes(),
    ]);
    this.#boots++;
    this.#before = this.#cluster.requests.at(-1);
  }

  /** Each node that runs shows at least what its disk has. */
  async untilServed(): Promise<void> {
    const running = this.nodes.filter(({ proxy }) => proxy !== undefined);
    await poll(
      () => running.filter((node) => !node.isServed).map(({ name }) => name),
      (without) => without.length === 0,
      { ...SOON, what: 'something to show on each node' },
    );
  }

  /** All nodes have the newest state, on their disks too, and read it from a relay. */
  async untilWell(): Promise<void> {
    const state = () => ({
      behind: this.nodes.filter((node) => !node.has(this.#changes)).map(({ name }) => name),
      direct: this.#cluster
        .openWatches()
        .map(({ request }) => tokenOf(request))
        .filter(isNode),
    });
    await poll(state, ({ behind, direct }) => behind.length + direct.length === 0, {
      ...SOON,
      what: 'the newest state on each node, from a relay',
    });
  }

  /**
   * What has sent more whole lists of one query to the API server, since the power came, than the bound allows:
   *
   * - a relay one
   * - a node none while it waits for relays; otherwise one, and one more if no relay can continue its watch
   *
   * Each time that the link was lost each may send another one.
   */
  tooManyLists(isPatient: boolean, losses: number): string[] {
    const counts = new Map<string, number>();
    const { requests } = this.#cluster;
    const before = this.#before === undefined ? -1 : requests.lastIndexOf(this.#before);
    for (const request of requests.slice(before + 1).filter(isWholeList)) {
      const id = [tokenOf(request), request.path, request.accept].join(' ');
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    const boundOf = (id: string): number => {
      const node = this.nodes.find(({ name }) => id.startsWith(name));
      const waits = node?.remembers === true && isPatient && losses === 0;
      return losses + (node === undefined ? 1 : waits ? 0 : 2);
    };
    return [...counts].filter(([id, count]) => count > boundOf(id)).map(([id, n]) => `${n}: ${id}`);
  }

  async #startRelay(n: number): Promise<void> {
    const credentials = credentialsFor(this.#link.url, `relay ${n}`);
    const options = { credentials, bookmarkMs: 100, silenceMs: SILENCE_MS };
    const listen = `${hostOf(n)}:${this.#port}`;
    this.#relays[n] = await useRelayOf(this.#link.url, this.#files, options, listen);
  }
}

function hostOf(relay: number): string {
  return `127.0.0.${relay + 1}`;
}

function isWholeList({ method, path, query }: SeenRequest): boolean {
  const isOne = query.get('fieldSelector')?.includes('metadata.name=') === true;
  const isList = method === 'GET' && !query.has('watch');
  return isList && !isOne && /\/(services|endpointslices)$/.test(path);
}

function tokenOf({ headers }: SeenRequest): string {
  return headers.authorization?.replace('Bearer ', '') ?? '';
}

function isNode(token: string): boolean {
  return NODES.some((name) => token.startsWith(name));
}
