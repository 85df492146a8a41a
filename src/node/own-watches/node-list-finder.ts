import { CODECS } from '../../client/api/codecs.ts';
import type { Query } from '../../client/api/query.ts';
import { CollectionClient } from '../../client/reflector/collection-client.ts';
import type { ReflectorContext } from '../../client/reflector/reflector-options.ts';
import type { Upstream } from '../../client/upstream/upstream.ts';
import type { PartialObjectMetadata } from '../../filter/codec/codec.ts';
import { NODES } from '../../filter/objects/resource.ts';
import { valuesSelector } from '../../topology/policy/label-selector.ts';
import { HOSTNAME_KEY, ZONE_KEY } from '../../topology/policy/topology-keys.ts';
import type { FoundNodes, NodeFinder, NodeRequest } from '../../topology/state/node-lookups.ts';
import type { Clock } from '../../util/clock.ts';
import { LogShares } from '../../util/log-shares.ts';
import { messageOf } from '../../util/message-of.ts';
import { OncePerCause } from '../../util/once-per-cause.ts';
import { withTimeout } from '../../util/with-timeout.ts';
import { RememberedNodes } from './remembered-nodes.ts';

/** While a slow disk is waited for, it is looked so often whether the API server answers, in milliseconds. */
const DISK_POLL_MS = 1_000;
/** A disk that takes longer, all look-ups together, has nothing for them: views may wait for these. In milliseconds. */
const DISK_MS = 30_000;
/** A look-up that takes longer has failed, in milliseconds: views may wait for it at the start. */
const LOOKUP_MS = 5_000;
const UNASKED = { error: 'the API server does not answer', isUnasked: true };
const CONSEQUENCE =
  'looking up Nodes failed and is repeated: until then the zone in EndpointSlices counts for nodes outside this zone';

/**
 * Looks up Nodes with lists, metadata only. They go to the API servers and never to a relay, which would open a watch
 * for each of them.
 */
export class NodeListFinder implements NodeFinder {
  readonly clock: Clock;
  readonly #context: ReflectorContext;
  readonly #apiServers: Pick<Upstream, 'request'>;
  readonly #closing = new AbortController();
  readonly #failures = new OncePerCause();
  /** Absent: nothing is on disk. */
  readonly #remembered: RememberedNodes | undefined;
  /** The one wait for the disk; undefined: nothing was looked up yet. */
  #waiting: Promise<void> | undefined;
  /** A tenant can name Nodes again and again. */
  readonly #log: LogShares;

  constructor(context: ReflectorContext, apiServers: Pick<Upstream, 'request'>, clock: Clock) {
    this.clock = clock;
    this.#context = context;
    this.#apiServers = apiServers;
    this.#log = new LogShares(context.logger, clock);
    const { snapshots } = context;
    const onSlow = (): void =>
      context.logger.warn(
        'the disk is slow: views wait for the zones of Nodes that are on it; check the disk of stateDir',
      );
    this.#remembered = snapshots && new RememberedNodes(snapshots, onSlow);
  }

  find(request: NodeRequest, done: (found: FoundNodes) => void): void {
    void this.#find(request).then(done);
  }

  onTooMany(namespace: string): void {
    const text =
      'slices of this Namespace name more nodes that do not exist than are looked up: for the others the zone in the slice counts; correct nodeName in these slices';
    this.#log.ofNamespace(namespace).warn({ namespace }, text);
  }

  /** Ends the look-up that is under way. */
  close(): void {
    this.#closing.abort();
    this.#remembered?.close();
    this.#log.close();
  }

  /** Never rejects. */
  async #find(request: NodeRequest): Promise<FoundNodes> {
    this.#waiting ??= this.#untilRead();
    await this.#waiting;
    const found = await this.#ask(request);
    return { ...found, remembered: this.#remembered?.zones };
  }

  /**
   * Without what is on disk, another endpoint would be selected. So a slow disk is waited for, once: while the API
   * server does not answer for half a minute, else for a second. What the disk has later is used from then on.
   */
  async #untilRead(): Promise<void> {
    const read = this.#remembered?.read().then(() => true);
    const { serverState } = this.#context.upstream;
    let waitedMs = 0;
    const isEnough = (): boolean =>
      waitedMs >= (serverState.condition.name === 'reachable' ? DISK_POLL_MS : DISK_MS);
    while (read !== undefined && !isEnough() && !this.#closing.signal.aborted) {
      if (await withTimeout(DISK_POLL_MS, read).catch(() => false)) return;
      waitedMs += DISK_POLL_MS;
    }
  }

  async #ask({ names, hostnames, version }: NodeRequest): Promise<FoundNodes> {
    try {
      const { condition } = this.#context.upstream.serverState;
      // All queries wait for it together, and it is in the log.
      if (condition.name !== 'reachable') return UNASKED;
      const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(LOOKUP_MS)]);
      const queries = names.map(byName);
      if (hostnames.length > 0) queries.push(byHostname(hostnames));
      const lists = await Promise.all(queries.map((query) => this.#list(query, version, signal)));
      this.#failures.succeed();
      const zones = new Map(lists.flatMap(({ zones }) => zones));
      // A Node that is not found by its label hostname may have another one.
      const known = [...names, ...zones.keys()];
      const [{ resourceVersion } = { resourceVersion: '' }] = lists;
      this.#remembered?.update(known, zones, resourceVersion);
      return { zones };
    } catch (error) {
      const err = messageOf(error);
      if (!this.#closing.signal.aborted && this.#failures.fail(err)) {
        this.#log.of('').warn({ err }, CONSEQUENCE);
      }
      return { error: err };
    }
  }

  async #list(
    query: Query,
    version: string,
    signal: AbortSignal,
  ): Promise<{ readonly resourceVersion: string; readonly zones: readonly [string, string][] }> {
    const { readLimits, ownMemory } = this.#context;
    const memory = ownMemory?.account();
    const options = { query, readLimits, upstream: this.#apiServers, memory };
    try {
      const client = new CollectionClient(options);
      const { items, resourceVersion } = await client.list(version, signal);
      const nodes = items.map((item) => CODECS[query.encoding].partialMetadata(item));
      return { resourceVersion, zones: nodes.map(zoneOf) };
    } finally {
      memory?.reading(0);
    }
  }
}

const METADATA = {
  resource: NODES,
  namespace: '',
  encoding: 'protobuf',
  metadataOnly: true,
} as const;

function byName(name: string): Query {
  return { ...METADATA, labelSelector: '', fieldSelector: `metadata.name=${name}` };
}

function byHostname(names: readonly string[]): Query {
  return {
    ...METADATA,
    labelSelector: valuesSelector(HOSTNAME_KEY, '=', names),
    fieldSelector: '',
  };
}

function zoneOf({ name, labels }: PartialObjectMetadata): [string, string] {
  return [name, labels.get(ZONE_KEY) ?? ''];
}
