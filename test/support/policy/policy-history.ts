import {
  type Inputs,
  type ModelCluster,
  type ModelPolicy,
  type ModelSettings,
  OWN,
  policyOf,
  portsFor,
  shownOf,
} from '../../../harness/history/expected-view.ts';
import type { View } from '../../../src/filter/view/view.ts';
import { propertyRuns } from '../property-runs.ts';
import { applyChanges, deletedBy, withChange } from './policy-changes.ts';
import { checkExplained } from './policy-explained.ts';
import { type HarnessViews, type ModelChanges, PolicyHarness } from './policy-harness.ts';
import { checkLog, follow } from './policy-log.ts';
import { ModelObjects, serviceOf, significant } from './policy-objects.ts';
import { OrderWatch } from './policy-order.ts';
import { failWith, isSame, type Seen } from './policy-seen.ts';
import { OWNERS, type Step } from './policy-steps.ts';

/** Histories per property test. Set the environment variable to run more. */
export const POLICY_RUNS = Number(process.env.POLICY_RUNS ?? propertyRuns(400));

/**
 * Runs a history from its first step to its last; throws as {@link History} does.
 *
 * @param isRefused whether the API server refuses all node sets at the start
 */
export function play(
  settings: ModelSettings,
  cluster: ModelCluster,
  steps: readonly Step[],
  isRefused = false,
): History {
  const history = new History(settings, cluster, isRefused);
  for (const step of steps) history.apply(step);
  return history;
}

/** The inputs of a decision, with the Services of the moment of the slices. */
type Moment = Inputs & { readonly slices: ModelCluster };

/**
 * Runs a history. At every commit of every view, checks that each Service is shown as the topology before or after the
 * step requires. If no node set is missing, it must be exactly as the current topology requires. For the views in
 * protobuf, which kube-proxy reads, also checks the order of events, and after each step the outcomes and explanations.
 *
 * If the number of node sets has a limit, each settled state is compared with that after a restart instead.
 */
export class History {
  readonly #settings: ModelSettings;
  readonly #objects = new ModelObjects();
  readonly #harness: PolicyHarness;
  readonly #order: OrderWatch;
  #now: ModelCluster;
  /** The clusters since all node sets were known, oldest first; the last is the one before this step. */
  #past: ModelCluster[] = [];
  /** What was shown before this step, by view. */
  #shown = new Map<View, ReadonlyMap<string, Seen>>();
  /** States within a batch: if it changes an object twice, the state in between is valid too. */
  #between: ModelCluster[] = [];
  /** Objects that this step deletes. It may create them again. */
  #deleted: ReadonlySet<string> = new Set();
  /** Nodes were created or deleted since all Nodes were looked up. */
  #hasOtherNodes = false;
  #version = 100;

  constructor(settings: ModelSettings, cluster: ModelCluster, isRefused: boolean) {
    this.#settings = settings;
    this.#now = cluster;
    this.#harness = new PolicyHarness(settings, this.#objects);
    this.#harness.start(cluster, isRefused);
    this.#order = new OrderWatch(this.#harness.topology, this.#harness.ofKubeProxy);
    for (const views of this.#harness.views) {
      for (const view of [views.slices, views.services]) {
        const isManaged = (object: Buffer) =>
          !this.#hasLimit && this.#isManaged(serviceOf(view, object));
        follow(view, isManaged);
        view.log.subscribe(() => this.#checkCommit(views, view));
      }
    }
    this.#settle();
  }

  apply(step: Step): void {
    this.#past.push(this.#now);
    this.#between = [];
    this.#deleted = deletedBy(step);
    this.#remember();
    this.#take(step);
    checkExplained(this.#harness.topology, this.#harness.ofKubeProxy);
    if (this.#harness.unanswered().length > 0) return;
    // A relabelled Node is found by events. One that is created or deleted is only found later.
    if (this.#hasOtherNodes) this.#order.step(() => this.#harness.lookUpAgain(this.#now));
    if (this.#harness.unanswered().length > 0) return;
    this.#hasOtherNodes = false;
    this.#settle();
  }

  /** Every view's log, followed from its start, led to each of its states. */
  checkLogs(): void {
    for (const { encoding, slices, services } of this.#harness.views) {
      for (const view of [slices, services]) checkLog(view, encoding);
    }
  }

  #settle(): void {
    this.#past = [this.#now];
    this.#order.settled();
    this.#remember();
    if (!this.#harness.topology.synced)
      throw new Error('all node sets are known, but the topology has not settled');
    const fresh = this.#hasLimit ? this.#afterRestart() : undefined;
    for (const views of this.#harness.views) {
      for (const view of [views.slices, views.services]) {
        for (const service of OWNERS) {
          const expected = fresh
            ? this.#seen(views, sameView(view, fresh, views), service)
            : this.#expected(views, view, service, this.#inputs(service, this.#now));
          const seen = this.#seen(views, view, service);
          if (!isSame(seen, expected)) failWith(`settled, but`, view, service, seen, [expected]);
        }
      }
    }
  }

  /** The same cluster as a process sees it that starts now. */
  #afterRestart(): PolicyHarness {
    const harness = new PolicyHarness(this.#settings, this.#objects);
    harness.start(this.#now, false);
    return harness;
  }

  get #hasLimit(): boolean {
    return this.#settings.maxNodeSets !== undefined;
  }

  #remember(): void {
    for (const views of this.#harness.views) {
      for (const view of [views.slices, views.services]) {
        const seen = OWNERS.map((key) => [key, this.#seen(views, view, key)] as const);
        this.#shown.set(view, new Map(seen));
      }
    }
  }

  #checkCommit(views: HarnessViews, view: View): void {
    if (this.#hasLimit) return;
    for (const service of OWNERS) {
      const seen = this.#seen(views, view, service);
      const tried: Seen[] = [];
      let allowed = false;
      for (const expected of this.#allowed(views, view, service)) {
        allowed = isSame(seen, expected);
        if (allowed) break;
        tried.push(expected);
      }
      if (!allowed) failWith('in between', view, service, seen, tried);
    }
  }

  /** What a view may show of a Service during a step. */
  *#allowed(views: HarnessViews, view: View, service: string): Generator<Seen> {
    const before = this.#past.at(-1) ?? this.#now;
    yield this.#shown.get(view)?.get(service) ?? new Map();
    if (view.resource.plural === 'services' && !this.#now.services.has(service)) yield new Map();
    const moments = [this.#now, ...[...this.#past].reverse()];
    for (const slices of [this.#now, before, ...this.#between]) {
      for (const nodeContext of moments) {
        for (const policy of moments) {
          // A Service that does not exist yet has no policy, so it cannot be shown under an earlier one.
          if (view.resource.plural === 'services' && !policy.services.has(service)) continue;
          if (this.#isOlderThanItsPolicy(views, view, service, slices, policy)) continue;
          for (const nodes of this.#nodesByKey(service, policy, before)) {
            // A Service has its new ports immediately, also while its policy waits for node sets.
            for (const at of [policy, this.#now, before]) {
              const ports = portsFor(service, at);
              const inputs = {
                ...this.#inputs(service, policy),
                ports,
                slices,
                nodeContext,
                nodes,
              };
              yield this.#expected(views, view, service, inputs);
              const isLookedUp = (node: string) => this.#harness.topology.lookups.isElsewhere(node);
              yield this.#expected(views, view, service, { ...inputs, isLookedUp });
            }
          }
        }
      }
    }
    if (this.#waitsForFirst(service)) yield new Map();
    if (view.resource.plural !== 'services' || this.#harness.unanswered().length === 0) return;
    // A Service that waits for node sets is unchanged, except that deleted objects are gone immediately.
    const unchanged = this.#shown.get(view)?.get(service) ?? new Map<string, string>();
    yield new Map([...unchanged].filter(([key]) => !this.#deleted.has(key)));
  }

  /** Whether the first policy of a Service waits for node sets, so that it must not be shown. */
  #waitsForFirst(service: string): boolean {
    const { policies } = this.#harness.topology;
    return policies.awaitsFirst(service) && policies.pendingOrActive(service).dryRun !== true;
  }

  /** The view of Services in protobuf supplies the policies: it never shows an old state under a new policy. */
  #isOlderThanItsPolicy(
    { encoding }: HarnessViews,
    view: View,
    service: string,
    object: ModelCluster,
    policy: ModelCluster,
  ): boolean {
    if (view.resource.plural !== 'services' || encoding !== 'protobuf') return false;
    const changed = object.services.get(service) !== policy.services.get(service);
    return changed && policy === this.#now;
  }

  /** Each node set is a separate watch: each key uses the other nodes as of before or after the step. */
  *#nodesByKey(
    service: string,
    at: ModelCluster,
    before: ModelCluster,
  ): Generator<Inputs['nodes']> {
    const policy = policyOf(service, at, this.#settings);
    if (before.nodes === this.#now.nodes || typeof policy === 'string') {
      yield (key) => this.#harness.knownTo(key, this.#now);
      return;
    }
    const { keys } = policy;
    for (let mask = 0; mask < 1 << keys.length; mask++) {
      const moment = (key: string) =>
        (mask & (1 << keys.indexOf(key))) === 0 ? this.#now : before;
      yield (key) => this.#harness.knownTo(key, moment(key));
    }
  }

  #inputs(service: string, at: ModelCluster): Moment {
    const policy = policyOf(service, at, this.#settings);
    const ports = portsFor(service, at);
    const moment = { nodeContext: at, nodes: () => at, slices: at };
    return { settings: this.#settings, policy, ports, self: OWN, ...moment };
  }

  #expected({ encoding }: HarnessViews, view: View, service: string, inputs: Moment): Seen {
    const shown = shownOf(service, inputs);
    const seen = new Map<string, string>();
    if (shown === undefined) return seen;
    if (view.resource.plural === 'services') {
      const object = inputs.slices.services.get(service);
      if (object !== undefined) seen.set(service, this.#objects.service(encoding, service, object));
      return seen;
    }
    for (const [key, slice] of shown) seen.set(key, this.#objects.slice(encoding, key, slice));
    return seen;
  }

  #seen({ encoding }: HarnessViews, view: View, service: string): Seen {
    const seen = new Map<string, string>();
    for (const key of view.keys()) {
      const object = view.get(key) as Buffer;
      if (serviceOf(view, object) === service) seen.set(key, significant(encoding, object));
    }
    return seen;
  }

  /** Whether some policy applies to a Service before and after this step, so that only changes may be sent. */
  #isManaged(service: string): boolean {
    const isManaged = (at: ModelCluster) => {
      const policy: ModelPolicy = policyOf(service, at, this.#settings);
      return typeof policy !== 'string' && !policy.edgeOnly && !at.off;
    };
    return [this.#now, ...this.#past].every(isManaged);
  }

  #take(step: Step): void {
    const harness = this.#harness;
    const order = this.#order;
    const before = this.#now;
    switch (step.kind) {
      case 'sync':
        while (harness.unanswered().length > 0) order.step(() => harness.answer(0, before));
        return;
      case 'refuse':
        order.step(() => harness.refuse(step.which));
        return;
      case 'minute':
        order.step(() => harness.closeLingering());
        return;
      case 'answer':
        order.step(() => harness.answer(step.which, before));
        return;
      case 'off':
        this.#now = { ...before, off: step.off };
        order.step(() => harness.setOwnNode(this.#now));
        return;
      case 'label': {
        const { [step.key]: _, ...labels } = before.nodes.get(step.node) ?? {};
        if (!before.nodes.has(step.node)) return;
        this.#setNode(
          step.node,
          step.value === '' ? labels : { ...labels, [step.key]: step.value },
        );
        return;
      }
      case 'node':
        // Several labels together may move a node between two sets of a key, which takes events of two watches.
        if (step.labels !== undefined && before.nodes.has(step.node)) return;
        this.#hasOtherNodes = true;
        this.#setNode(step.node, step.labels);
        return;
      case 'namespace': {
        const namespaces = withChange(before.namespaces, step.namespace, step.keys);
        this.#now = { ...before, namespaces };
        const existed = before.namespaces.has(step.namespace);
        order.step(() => harness.setNamespaces([[step.namespace, step.keys, existed]]));
        return;
      }
      case 'communities': {
        const changes = step.changes.map(({ name, members }) => [name, members] as const);
        const [communities, sent] = applyChanges(before.communities, changes);
        this.#now = { ...before, communities };
        order.step(() => harness.setCommunities(sent));
        return;
      }
      case 'services': {
        const changes = step.changes.map(
          ({ key, service }) => [key, service && { ...service, version: ++this.#version }] as const,
        );
        const [services, sent] = applyChanges(before.services, changes);
        this.#now = { ...before, services };
        this.#send(sent, () => harness.setServices(sent));
        return;
      }
      case 'slices': {
        const changes = step.changes.map(
          ({ key, slice }) => [key, slice && { ...slice, version: ++this.#version }] as const,
        );
        const [slices, sent] = applyChanges(before.slices, changes);
        this.#now = { ...before, slices };
        this.#between = changes.flatMap(([key], index) => {
          const earlier = changes.slice(0, index);
          if (!earlier.some(([other]) => other === key)) return [];
          return [{ ...before, slices: applyChanges(before.slices, earlier)[0] }];
        });
        this.#send(sent, () => harness.setSlices(sent));
      }
    }
  }

  /** The order is not checked if a batch changes an object twice: each change is shown, one after the other. */
  #send(sent: ModelChanges<unknown>, change: () => void): void {
    const keys = new Set(sent.map(([key]) => key));
    if (keys.size === sent.length) {
      this.#order.step(change);
    } else {
      this.#order.replaced(keys);
      change();
    }
  }

  #setNode(name: string, labels: Record<string, string> | undefined): void {
    this.#now = { ...this.#now, nodes: withChange(this.#now.nodes, name, labels) };
    if (name === OWN) this.#order.step(() => this.#harness.setOwnNode(this.#now));
    // Each node set is updated separately, in any order.
    this.#harness.followNodes(this.#now);
  }
}

/** The view of another harness that shows the same as this one of `views`. */
function sameView(view: View, { views: all }: PolicyHarness, views: HarnessViews): View {
  const same = all.find(({ encoding }) => encoding === views.encoding);
  if (same === undefined) throw new Error(`there is no view in ${views.encoding}`);
  return view === views.slices ? same.slices : same.services;
}
