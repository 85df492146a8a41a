import { pino } from 'pino';
import { collectionNamed } from '../../../fake-apiserver/collections.ts';
import { predicateOf } from '../../../fake-apiserver/selector.ts';
import {
  type Labels,
  type ModelCluster,
  type ModelService,
  type ModelSettings,
  type ModelSlice,
  OWN,
  ZONE,
} from '../../../harness/history/expected-view.ts';
import type {
  Codec,
  Encoding,
  EndpointsFacts,
  ServiceFacts,
} from '../../../src/filter/codec/codec.ts';
import { JsonCodec } from '../../../src/filter/codec/json/json-codec.ts';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import type { Change } from '../../../src/filter/objects/change.ts';
import { ENDPOINT_SLICES, type Resource, SERVICES } from '../../../src/filter/objects/resource.ts';
import { Batches, type ViewHandler } from '../../../src/filter/projection/batch.ts';
import { EndpointsProjection } from '../../../src/filter/projection/endpoints-projection.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import { CommunitiesHandler } from '../../../src/node/own-watches/communities-handler.ts';
import { NamespacesHandler } from '../../../src/node/own-watches/namespaces-handler.ts';
import { PolicyLog } from '../../../src/node/own-watches/policy-log.ts';
import { ServicesHandler } from '../../../src/node/own-watches/services-handler.ts';
import { parseLabelSelector } from '../../../src/topology/policy/label-selector.ts';
import { PolicyResolver } from '../../../src/topology/policy/policy-resolver.ts';
import type { PolicySettings } from '../../../src/topology/policy/service-policy.ts';
import { PRESETS } from '../../../src/topology/policy/topology-keys.ts';
import type { FoundNodes, NodeRequest } from '../../../src/topology/state/node-lookups.ts';
import { NODE_SET_LINGER_MS } from '../../../src/topology/state/node-set.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { ManualClock, stillClock } from '../clocks.ts';
import { notReentrant } from '../projection/not-reentrant.ts';
import { servicesProjection } from '../projection/services-projection.ts';
import type { ModelObjects } from './policy-objects.ts';

/** Objects that changed; undefined: it was deleted. */
export type ModelChanges<T> = readonly (readonly [
  key: string,
  object: T | undefined,
  existed: boolean,
])[];

/** The two views of one encoding. */
export interface HarnessViews {
  readonly encoding: Encoding;
  readonly slices: View;
  readonly services: View;
  /** The projection of the slices. */
  readonly projection: EndpointsProjection;
}

interface Opened extends HarnessViews {
  readonly codec: Codec;
  readonly ofServices: ViewHandler<ServiceFacts>;
  readonly ofSlices: ViewHandler<EndpointsFacts>;
}

/** See {@link PolicyHarness.unanswered}. */
const LOOKUP = 'look-up';

const policyLog = new PolicyLog(pino({ level: 'silent' }));

/**
 * The topology with the views of two clients, one in protobuf and one in JSON, driven by a model of the cluster
 * instead of an API server. A node set is answered only when {@link answer} is called.
 */
export class PolicyHarness {
  readonly topology: Topology;
  readonly views: readonly HarnessViews[];
  /** The views of kube-proxy, in protobuf. */
  readonly ofKubeProxy: HarnessViews;
  readonly #opened: readonly Opened[];
  readonly #batches: Batches;
  readonly #clock = new VersionAllocator(12_345_670);
  /** Undefined: annotations of namespaces are not read. */
  readonly #namespaces: NamespacesHandler | undefined;
  readonly #communities: CommunitiesHandler;
  readonly #objects: ModelObjects;
  /** Closes node sets that are not needed. */
  readonly #nodeSetClock = new ManualClock();
  /** Looks Nodes up again. */
  readonly #lookupTime = new ManualClock();
  /** The look-up that is under way. */
  #lookup: { request: NodeRequest; done: (found: FoundNodes) => void } | undefined;
  /** Node sets that were answered, each with the nodes sent so far. */
  readonly #answered = new Map<string, Set<string>>();
  /** Node sets that are refused, and not answered yet. */
  readonly #refused = new Set<string>();

  constructor(settings: ModelSettings, objects: ModelObjects) {
    this.#objects = objects;
    const policies = policySettings(settings);
    const policyResolver = new PolicyResolver(policies);
    this.topology = new Topology({
      nodeName: OWN,
      topologyMatch: { communities: settings.sources, edge: parseLabelSelector(settings.edge) },
      declaredCommunities: true,
      namespaces: settings.namespaces,
      withholdsServices: settings.passthrough,
      maxNodeSets: settings.maxNodeSets,
      nodeSetWatcher: {
        clock: this.#nodeSetClock,
        open: ({ selector }) => {
          const close = () => {
            this.#answered.delete(selector);
            this.#refused.delete(selector);
            return Promise.resolve();
          };
          return { status: { connected: true }, close };
        },
        onOverLimit: () => undefined,
      },
      nodeFinder: {
        clock: this.#lookupTime,
        find: (request, done) => {
          this.#lookup = { request, done };
        },
        onTooMany: () => undefined,
      },
    });
    const { topology } = this;
    this.#batches = new Batches(topology);
    this.#namespaces = settings.namespaces
      ? new NamespacesHandler({ topology, policyResolver, policyLog })
      : undefined;
    this.#communities = new CommunitiesHandler(topology, 'here');
    const servicesHandler = new ServicesHandler({ topology, policyResolver, policyLog });
    const ofKubeProxy = this.#open(
      new ProtobufCodec(),
      policies,
      settings.passthrough,
      servicesHandler,
    );
    const others = this.#open(new JsonCodec(), policies, settings.passthrough, undefined);
    this.#opened = [ofKubeProxy, others];
    this.views = this.#opened;
    this.ofKubeProxy = ofKubeProxy;
  }

  /** Node sets that the topology waits for, and `look-up` if it waits for one. */
  unanswered(): string[] {
    this.#lookupTime.pass(0);
    const sets = this.#unansweredSets();
    return this.#lookup === undefined ? sets : [...sets, LOOKUP];
  }

  #unansweredSets(): string[] {
    const watched = [...this.topology.nodeSets.values()].filter(
      ({ state }) => state !== 'overLimit',
    );
    const selectors = watched.map(({ selector }) => selector);
    return selectors.filter((selector) => !this.#answered.has(selector));
  }

  /** Refuses one of the wanted node sets, until it is answered. */
  refuse(which: number): void {
    const waiting = this.#unansweredSets();
    const selector = waiting[which % Math.max(1, waiting.length)];
    if (selector === undefined) return;
    this.#refused.add(selector);
    this.topology.nodeSets.get(selector)?.refuse('nodes is forbidden');
  }

  /** A cluster without the nodes that a key matches only by node sets that are refused. */
  knownTo(key: string, cluster: ModelCluster): Pick<ModelCluster, 'nodes'> {
    const { selectors = [] } = this.topology.matchOf(key) ?? {};
    if (selectors.every((selector) => !this.#refused.has(selector))) return cluster;
    const isKnown = ([name, labels]: [string, Labels]): boolean => {
      const matching = selectors.filter((selector) => isIn(selector, name, labels));
      return matching.length === 0 || matching.some((selector) => !this.#refused.has(selector));
    };
    return { nodes: new Map([...cluster.nodes].filter(isKnown)) };
  }

  /** Nodes are looked up again, as within four days. */
  lookUpAgain(cluster: ModelCluster): void {
    this.#lookupTime.pass(360_000_000);
    for (let n = 0; this.#lookup !== undefined || n === 0; n++) {
      this.#answerLookup(cluster);
      this.#lookupTime.pass(1_000);
    }
  }

  /**
   * Sends everything, as the first lists would.
   *
   * @param isRefused whether all node sets are refused first, until the views have started
   */
  start(cluster: ModelCluster, isRefused: boolean): void {
    this.setOwnNode(cluster);
    this.setCommunities([...cluster.communities].map(([key, value]) => [key, value, false]));
    this.setNamespaces([...cluster.namespaces].map(([key, value]) => [key, value, false]));
    this.#communities.onSynced();
    this.#namespaces?.onSynced();
    this.setSlices([...cluster.slices].map(([key, slice]) => [key, slice, false]));
    this.setServices([...cluster.services].map(([key, service]) => [key, service, false]));
    for (const { ofSlices, ofServices } of this.#opened) {
      ofServices.onSynced();
      ofSlices.onSynced();
    }
    // Each refusal may make another set necessary.
    for (let which = 0; isRefused && which < this.#unansweredSets().length; which++) {
      this.refuse(which);
    }
    while (this.unanswered().length > 0) this.answer(0, cluster);
  }

  setOwnNode({ nodes, off }: ModelCluster): void {
    const annotations = new Map(off ? [['kube-proxy-wrapper.io/filter', 'off']] : []);
    this.topology.setOwnNode({
      labels: new Map(Object.entries(nodes.get(OWN) ?? {})),
      annotations,
    });
  }

  setCommunities(changes: ModelChanges<readonly string[]>): void {
    this.#communities.onChanges(
      changes.map(([key, members, existed]) => {
        if (members === undefined) return { type: 'DELETED', key };
        const facts = { namespace: '', name: key, uid: key, resourceVersion: '1' };
        const own = members.map((member) => `here.${member}`);
        const object = Buffer.alloc(0);
        const type = existed ? 'MODIFIED' : 'ADDED';
        return { type, key, object, facts: { ...facts, members: [...own, 'there.near', 'near'] } };
      }),
    );
  }

  setNamespaces(changes: ModelChanges<string>): void {
    this.#namespaces?.onChanges(
      changes.map(([key, keys, existed]) => {
        const annotations = new Map(keys === undefined ? [] : [['topologyKeys', keys]]);
        const meta = { namespace: '', name: key, uid: key, resourceVersion: '1' };
        const facts = { ...meta, labels: new Map(), annotations };
        return { type: existed ? 'MODIFIED' : 'ADDED', key, object: Buffer.alloc(0), facts };
      }),
    );
  }

  setServices(changes: ModelChanges<ModelService>): void {
    this.#list();
    for (const { codec, ofServices } of this.#opened) {
      ofServices.onChanges(this.#changes(changes, codec, SERVICES, (raw) => codec.service(raw)));
    }
  }

  setSlices(changes: ModelChanges<ModelSlice>): void {
    this.#list();
    for (const { codec, ofSlices } of this.#opened) {
      const decode = (raw: Buffer) => codec.endpoints(ENDPOINT_SLICES, raw);
      ofSlices.onChanges(this.#changes(changes, codec, ENDPOINT_SLICES, decode));
    }
  }

  /** Clients list, so that the objects of the views are parts of pages. */
  #list(): void {
    for (const { slices, services } of this.#opened) {
      for (const view of [slices, services]) {
        if (view.started && view.state().list.bytes === 0) throw new Error('an empty body');
      }
    }
  }

  /** Closes the node sets that no policy needs, as after a minute. */
  closeLingering(): void {
    this.#nodeSetClock.pass(NODE_SET_LINGER_MS);
  }

  /** Updates the node sets that were answered, as their watches would. */
  followNodes(cluster: ModelCluster): void {
    for (const [selector, known] of this.#answered) this.#update(selector, known, cluster);
  }

  /** Answers one of the wanted node sets, or a look-up. */
  answer(which: number, cluster: ModelCluster): void {
    const waiting = this.unanswered();
    const selector = waiting[which % Math.max(1, waiting.length)];
    if (selector === undefined) return;
    if (selector === LOOKUP) {
      this.#answerLookup(cluster);
      return;
    }
    const known = new Set<string>();
    this.#answered.set(selector, known);
    this.#refused.delete(selector);
    this.#update(selector, known, cluster);
    this.topology.nodeSets.get(selector)?.sync();
  }

  /** Nodes have no hostname label, so more than a few are found by name only. */
  #answerLookup({ nodes }: ModelCluster): void {
    const { request, done } = this.#lookup ?? {};
    this.#lookup = undefined;
    const found = (request?.names ?? []).filter((name) => nodes.has(name));
    done?.({ zones: new Map(found.map((name) => [name, nodes.get(name)?.[ZONE] ?? ''])) });
  }

  #update(selector: string, known: Set<string>, { nodes }: ModelCluster): void {
    const members = [...nodes].filter(([name, labels]) => isIn(selector, name, labels));
    const names = new Set(members.map(([name]) => name));
    const added = [...names].filter((node) => !known.has(node));
    const removed = [...known].filter((node) => !names.has(node));
    for (const node of added) known.add(node);
    for (const node of removed) known.delete(node);
    if (added.length + removed.length > 0)
      this.topology.nodeSets.get(selector)?.change(added, removed);
  }

  #changes<Facts extends ServiceFacts | EndpointsFacts>(
    changes: ModelChanges<ModelService | ModelSlice>,
    codec: Codec,
    resource: Resource,
    decode: (raw: Buffer) => Facts,
  ): Change<Facts>[] {
    return changes.map(([key, model, existed]) => {
      if (model === undefined) return { type: 'DELETED', key };
      const object = this.#objects.raw(codec.encoding, resource.kind, key, model);
      const facts = decode(object);
      this.#clock.observe(facts.resourceVersion);
      return { type: existed ? 'MODIFIED' : 'ADDED', key, facts, object };
    });
  }

  #open(
    codec: Codec,
    { serviceFilter }: PolicySettings,
    passthrough: boolean,
    servicesHandler: ServicesHandler | undefined,
  ): Opened {
    const { topology } = this;
    const window = { entries: 1_000_000, bytes: 1 << 30 };
    const common = { codec, versions: this.#clock, window };
    const services = new View({ ...common, resource: SERVICES });
    const slices = new View({ ...common, resource: ENDPOINT_SLICES });
    const { handler: ofServices } = servicesProjection({
      view: services,
      topology,
      batches: this.#batches,
      serviceFilter,
      followsWithheld: passthrough,
      feed: servicesHandler,
    });
    const endpoints = new EndpointsProjection({
      view: slices,
      topology,
      clock: stillClock,
      reportsWithheld: passthrough && servicesHandler !== undefined,
    });
    const projection = notReentrant(endpoints, ['update', 'decideAgain']);
    const { encoding } = codec;
    return {
      encoding,
      codec,
      slices,
      services,
      projection,
      ofServices,
      ofSlices: this.#batches.addEndpoints(projection),
    };
  }
}

/** Whether a Node is in a node set. */
function isIn(selector: string, name: string, labels: Labels): boolean {
  const selection = { labelSelector: selector, fieldSelector: '' };
  return predicateOf(collectionNamed('nodes'), selection)({ metadata: { name, labels } });
}

function policySettings(settings: ModelSettings): PolicySettings {
  const { defaults, hides } = settings;
  const preset = typeof defaults === 'string' ? PRESETS[defaults] : { keys: defaults };
  return {
    defaults: preset ?? { keys: [] },
    allowedTopologyKeys: ['*'],
    headless: settings.headless,
    compatibility: settings.compatibility ? ['openyurt', 'kubeedge'] : [],
    minReady: new Map(Object.entries(settings.minReady)),
    ...(hides === undefined ? {} : { serviceFilter: { label: 'mesh', hides } }),
  };
}
