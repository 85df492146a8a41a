/**
 * Nodes of a site in one process: each has the wrapper's own client with its choice of servers, its queries and a token
 * of its own, and no snapshots, views or kube-proxy. simulation.ts starts it and asks it by lines of JSON.
 */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pino } from 'pino';
import { CODECS } from '../../src/client/api/codecs.ts';
import { currentKubeProxyQueries, ownNodeQuery } from '../../src/client/api/kube-proxy-queries.ts';
import { type Query, queryPath } from '../../src/client/api/query.ts';
import { DEFAULT_READ_LIMITS } from '../../src/client/api/read-limits.ts';
import type { Credentials } from '../../src/client/credentials/credentials.ts';
import { CollectionClient } from '../../src/client/reflector/collection-client.ts';
import { Reflector } from '../../src/client/reflector/reflector.ts';
import { Upstream, type UpstreamRequest } from '../../src/client/upstream/upstream.ts';
import { relayWait } from '../../src/config/node-proxy-options.ts';
import type { ObjectMeta } from '../../src/filter/codec/codec.ts';
import type { Change } from '../../src/filter/objects/change.ts';
import { ENDPOINT_SLICES, NODES, SERVICES } from '../../src/filter/objects/resource.ts';
import { VersionAllocator } from '../../src/filter/view/version-allocator.ts';
import type { FollowedNode, Lateness, SimulatedSite } from './simulation.ts';

type Configured = SimulatedSite['nodes'][number];

/** They wait for relays as a node with snapshots does. */
const SETTINGS = { stateDir: '/', relays: { service: 'a/b' } } as Parameters<typeof relayWait>[0];
const log = pino(pino.destination(2));

/** What a node has received since it was told to note it: by version, when, of performance.now(). */
type Arrivals = Map<string, number>;

class SimulatedNode {
  readonly arrivals: Arrivals = new Map();
  readonly #name: string;
  readonly #upstream: Upstream;
  readonly #reflectors: readonly (readonly [Query, Pick<Reflector<ObjectMeta>, 'status'>])[];
  readonly #startedAt = performance.now();
  readonly #missing: Set<Query>;
  readonly #target: bigint;
  #newestMs: number | undefined;
  #listsBefore = 0;

  constructor(site: SimulatedSite, { name, token, relays }: Configured) {
    const logger = log.child({ node: name });
    this.#name = name;
    this.#target = BigInt(site.target);
    const { relayCaFile: caFile, servername, snapshot } = site;
    const query = ownNodeQuery(name);
    this.#upstream = new SnapshotUpstream(snapshot, {
      credentials: credentialsOf(site, token),
      relays: { servers: relays.map((url) => new URL(url)), servername, caFile },
      relayWaitMs: relayWait(SETTINGS),
      list: async (request) => {
        const own = { query, readLimits: DEFAULT_READ_LIMITS, upstream: { request } };
        await new CollectionClient(own).list('0', new AbortController().signal);
      },
      logger,
    });
    const queries = queriesOf(site, name);
    this.#missing = new Set(queries);
    const versions = new VersionAllocator(Date.now());
    const context = { upstream: this.#upstream, versions, readLimits: DEFAULT_READ_LIMITS, logger };
    this.#reflectors = queries.map((each) => {
      const { metadataOnly } = each;
      const codec = CODECS.protobuf;
      let version = '';
      const reflector = new Reflector({
        ...context,
        query: each,
        decode: (object) =>
          metadataOnly === true ? codec.partialMetadata(object) : codec.meta(object),
        handler: {
          onVersion: (reached) => {
            version = reached;
          },
          onChanges: (changes) => {
            if (each.resource === ENDPOINT_SLICES) this.#note(changes);
          },
          onSynced: () => this.#listed(each, version),
        },
      });
      return [each, reflector] as const;
    });
  }

  /** What has become of it. */
  get state(): FollowedNode {
    const [server] = this.#upstream.failover.servers;
    const watches = this.#reflectors.filter(([, { status }]) => status.connected);
    return {
      name: this.#name,
      newestMs: this.#newestMs,
      relay: this.#upstream.failover.isRelay(server) ? server.hostname : undefined,
      switches: this.#upstream.failover.switches,
      watches: watches.length,
      versions: Object.fromEntries(
        this.#reflectors.map(([query, { status }]) => [
          collectionOf(queryPath(query)),
          status.version,
        ]),
      ),
    };
  }

  note(): void {
    this.arrivals.clear();
    this.#listsBefore = this.#lists;
  }

  /** Compares what has arrived with what another node has. */
  lateness(direct: Arrivals): Lateness {
    const late: number[] = [];
    for (const [version, at] of direct) {
      const arrived = this.arrivals.get(version);
      if (arrived !== undefined) late.push(arrived - at);
    }
    const lost = direct.size - late.length;
    const lists = this.#lists - this.#listsBefore;
    return { name: this.#name, lost, lists, mostMs: Math.max(0, ...late) };
  }

  /** Of Services and EndpointSlices. */
  get #lists(): number {
    const large = this.#reflectors.filter(
      ([{ resource }]) => resource === ENDPOINT_SLICES || resource === SERVICES,
    );
    return large.reduce((sum, [, { status }]) => sum + status.lists, 0);
  }

  #note(changes: readonly Change[]): void {
    const now = performance.now();
    for (const change of changes) {
      const version =
        change.type === 'DELETED' ? change.resourceVersion : change.facts.resourceVersion;
      if (version !== undefined && BigInt(version) > this.#target) this.arrivals.set(version, now);
    }
  }

  #listed(query: Query, version: string): void {
    if (query.resource === ENDPOINT_SLICES && BigInt(version) < this.#target) return;
    this.#missing.delete(query);
    if (this.#missing.size === 0) this.#newestMs ??= performance.now() - this.#startedAt;
  }
}

/** A first list asks for the version of the snapshot, as the first list of a node that has one does. */
class SnapshotUpstream extends Upstream {
  readonly #snapshot: SimulatedSite['snapshot'];

  constructor(
    snapshot: SimulatedSite['snapshot'],
    options: ConstructorParameters<typeof Upstream>[0],
  ) {
    super(options);
    this.#snapshot = snapshot;
  }

  override request(request: UpstreamRequest): ReturnType<Upstream['request']> {
    const version = this.#snapshot[collectionOf(request.path)] ?? '0';
    const path = request.path.replace('resourceVersion=0', `resourceVersion=${version}`);
    return super.request({ ...request, path });
  }
}

/** A collection, whatever node reads it. */
function collectionOf(path: string): string {
  const { pathname, searchParams } = new URL(path, 'http://x');
  return `${pathname} ${searchParams.get('labelSelector') ?? ''}`;
}

/** As of a kube-proxy, and what the wrapper reads of the nodes that its keys name. */
function queriesOf({ selectors }: SimulatedSite, name: string): Query[] {
  const nodes = selectors.map((labelSelector): Query => {
    const all = {
      resource: NODES,
      namespace: '',
      fieldSelector: '',
      encoding: 'protobuf',
    } as const;
    return { ...all, labelSelector, metadataOnly: true };
  });
  return [...currentKubeProxyQueries(name), ...nodes];
}

function credentialsOf({ server, caFile }: SimulatedSite, token: string): Credentials {
  const tls = { ca: readFileSync(caFile) };
  return {
    servers: [new URL(server)],
    tls: () => tls,
    onTlsChange: () => () => {},
    headers: async () => ({ authorization: `Bearer ${token}` }),
    refresh: async () => {},
    close: () => {},
  };
}

let nodes: readonly SimulatedNode[] = [];

const answers: Readonly<Record<string, (site: SimulatedSite) => unknown>> = {
  boot: (site) => {
    nodes = site.nodes.map((node) => new SimulatedNode(site, node));
  },
  state: () => nodes.map(({ state }) => state),
  note: () => {
    for (const node of nodes) node.note();
  },
  /** With the first one, which reads from the API server itself. */
  lateness: () => {
    const [direct, ...others] = nodes;
    return others.map((node) => node.lateness(direct?.arrivals ?? new Map()));
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { op, site } = JSON.parse(line) as { op: string; site: SimulatedSite };
  const result = answers[op]?.(site) ?? null;
  process.stdout.write(`${JSON.stringify({ result })}\n`);
});
