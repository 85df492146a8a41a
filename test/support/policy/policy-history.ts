import type { View } from '../../../src/filter/view/view.ts';
import { propertyRuns } from '../property-runs.ts';
import { type HarnessViews, PolicyHarness, type Told } from './policy-harness.ts';
import { checkLog, follow } from './policy-log.ts';
import {
  type Inputs,
  type ModelCluster,
  type ModelPolicy,
  type ModelSettings,
  OWN,
  policyOf,
  shownOf,
  ZONE,
} from './policy-model.ts';
import { deletedBy, tell, withChange } from './policy-notified.ts';
import { keyOf, ModelObjects, significant } from './policy-objects.ts';
import { OrderWatch } from './policy-order.ts';
import { SERVICE_KEYS, type Step } from './policy-steps.ts';

const NO_NODES = { nodes: new Map() } as unknown as ModelCluster;

/** What a view shows of one Service: key of the object → what of it is significant. */
type Seen = ReadonlyMap<string, string>;

/** Histories in a property; set to look longer. */
export const POLICY_RUNS = Number(process.env.POLICY_RUNS ?? propertyRuns(400));

/** Runs a history from its first step to its last; throws as {@link History} does. */
export function play(
  settings: ModelSettings,
  cluster: ModelCluster,
  steps: readonly Step[],
): History {
  const history = new History(settings, cluster);
  for (const step of steps) history.apply(step);
  return history;
}

/**
 * Runs a history and checks at every commit of every view that each Service is shown as the world before or
 * after the step would show it, and, when no node set is awaited, exactly as the world is. Of the views in protobuf,
 * which kube-proxy reads, it also checks the order of their events.
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
  /** Where changes of one batch change an object again: the state before that was a true one. */
  #between: ModelCluster[] = [];
  /** Objects that this step deletes, though it may create them again. */
  #deleted: ReadonlySet<string> = new Set();
  #version = 100;

  constructor(settings: ModelSettings, cluster: ModelCluster) {
    this.#settings = settings;
    this.#now = cluster;
    this.#harness = new PolicyHarness(settings, this.#objects);
    this.#harness.start(cluster);
    this.#order = new OrderWatch(this.#harness.topology, this.#harness.ofKubeProxy);
    for (const views of this.#harness.views) {
      for (const view of [views.slices, views.services]) {
        follow(view, (object) => this.#isManaged(serviceOf(keyOf(views.encoding, object))));
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
    if (this.#harness.unanswered().length === 0) this.#settle();
  }

  /** Every view's log, followed from its start, led to each of its states. */
  checkLogs(): void {
    for (const { encoding, slices, services } of this.#harness.views) {
      for (const view of [slices, services]) checkLog(view, encoding);
    }
  }

  #settle(): void {
    this.#past = [this.#now];
    this.#remember();
    if (!this.#harness.topology.settled) throw new Error('all node sets are known, yet it waits');
    for (const views of this.#harness.views) {
      for (const view of [views.slices, views.services]) {
        for (const service of SERVICE_KEYS) {
          const inputs = this.#inputs(service, this.#now);
          const expected = this.#expected(views, view, service, inputs);
          const seen = this.#seen(views, view, service);
          if (!same(seen, expected)) fail(`settled, but`, view, service, seen, [expected]);
        }
      }
    }
  }

  #remember(): void {
    for (const views of this.#harness.views) {
      for (const view of [views.slices, views.services]) {
        const seen = SERVICE_KEYS.map((key) => [key, this.#seen(views, view, key)] as const);
        this.#shown.set(view, new Map(seen));
      }
    }
  }

  #checkCommit(views: HarnessViews, view: View): void {
    for (const service of SERVICE_KEYS) {
      const seen = this.#seen(views, view, service);
      const tried: Seen[] = [];
      let allowed = false;
      for (const expected of this.#allowed(views, view, service)) {
        allowed = same(seen, expected);
        if (allowed) break;
        tried.push(expected);
      }
      if (!allowed) fail('in between', view, service, seen, tried);
    }
  }

  /** What may be shown of a Service while a step is under way. */
  *#allowed(views: HarnessViews, view: View, service: string): Generator<Seen> {
    const before = this.#past.at(-1) ?? this.#now;
    yield this.#shown.get(view)?.get(service) ?? new Map();
    if (view.resource.plural === 'services' && !this.#now.services.has(service)) yield new Map();
    const moments = [this.#now, ...[...this.#past].reverse()];
    for (const slices of [this.#now, before, ...this.#between]) {
      for (const nodeContext of moments) {
        for (const policy of moments) {
          // A Service that is not there yet has no policy, and none can be seen under an earlier one.
          if (view.resource.plural === 'services' && !policy.services.has(service)) continue;
          if (this.#isOlderThanItsPolicy(views, view, service, slices, policy)) continue;
          for (const nodes of this.#nodesByKey(service, policy, before)) {
            const inputs = { ...this.#inputs(service, policy), slices, nodeContext, nodes };
            yield this.#expected(views, view, service, inputs);
            if (!this.#zoneIsUnknown()) continue;
            const unknown = (key: string) => (key === ZONE ? NO_NODES : nodes(key));
            yield this.#expected(views, view, service, { ...inputs, nodes: unknown });
          }
        }
      }
    }
    if (this.#waitsForFirst(service)) yield new Map();
    if (view.resource.plural !== 'services' || this.#harness.unanswered().length === 0) return;
    // A Service that waits for node sets stands as it was, but what is deleted is gone at once.
    const stood = this.#shown.get(view)?.get(service) ?? new Map<string, string>();
    yield new Map([...stood].filter(([key]) => !this.#deleted.has(key)));
  }

  /** Whether the nodes of a zone are asked for and not known: until they are, an endpoint without a zone does not match. */
  #zoneIsUnknown(): boolean {
    return this.#harness.unanswered().some((selector) => selector.startsWith(ZONE));
  }

  /** Whether a Service that was not known waits for node sets, and is not to be shown meanwhile. */
  #waitsForFirst(service: string): boolean {
    const { policies } = this.#harness.topology;
    return policies.awaitsFirst(service) && policies.wanted(service).dryRun !== true;
  }

  /** Services in protobuf are where policies come from: none is seen in an old state under a new policy. */
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

  /** Each node set is a watch of its own: each key sees the other nodes before or after the step. */
  *#nodesByKey(
    service: string,
    at: ModelCluster,
    before: ModelCluster,
  ): Generator<Inputs['nodes']> {
    const policy = policyOf(service, at, this.#settings);
    if (before.nodes === this.#now.nodes || typeof policy === 'string') {
      yield () => this.#now;
      return;
    }
    const { keys } = policy;
    for (let mask = 0; mask < 1 << keys.length; mask++) {
      yield (key) => ((mask & (1 << keys.indexOf(key))) === 0 ? this.#now : before);
    }
  }

  #inputs(service: string, at: ModelCluster): Inputs {
    const policy = policyOf(service, at, this.#settings);
    return { settings: this.#settings, policy, nodeContext: at, nodes: () => at, slices: at };
  }

  #expected({ encoding }: HarnessViews, view: View, service: string, inputs: Inputs): Seen {
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
    const keys =
      view.resource.plural === 'services' ? [service] : [0, 1, 2].map((n) => `${service}-${n}`);
    const seen = new Map<string, string>();
    for (const key of keys) {
      const object = view.get(key);
      if (object !== undefined) seen.set(key, significant(encoding, object));
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
        // Several labels at once may move a node from one set of a relation to another: two watches tell that.
        if (step.labels !== undefined && before.nodes.has(step.node)) return;
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
        const [communities, told] = tell(before.communities, changes);
        this.#now = { ...before, communities };
        order.step(() => harness.setCommunities(told));
        return;
      }
      case 'services': {
        const changes = step.changes.map(
          ({ key, service }) => [key, service && { ...service, version: ++this.#version }] as const,
        );
        const [services, told] = tell(before.services, changes);
        this.#now = { ...before, services };
        this.#tell(told, () => harness.setServices(told));
        return;
      }
      case 'slices': {
        const changes = step.changes.map(
          ({ key, slice }) => [key, slice && { ...slice, version: ++this.#version }] as const,
        );
        const [slices, told] = tell(before.slices, changes);
        this.#now = { ...before, slices };
        this.#between = changes.flatMap(([key], index) => {
          const earlier = changes.slice(0, index);
          if (!earlier.some(([other]) => other === key)) return [];
          return [{ ...before, slices: tell(before.slices, earlier)[0] }];
        });
        this.#tell(told, () => harness.setSlices(told));
      }
    }
  }

  /** Of an object that comes up twice in a batch each change is shown, one after the other. */
  #tell(told: Told<unknown>, change: () => void): void {
    const keys = new Set(told.map(([key]) => key));
    if (keys.size === told.length) this.#order.step(change);
    else change();
  }

  #setNode(name: string, labels: Record<string, string> | undefined): void {
    this.#now = { ...this.#now, nodes: withChange(this.#now.nodes, name, labels) };
    if (name === OWN) this.#order.step(() => this.#harness.setOwnNode(this.#now));
    // Each node set is told of its own, in any order.
    this.#harness.followNodes(this.#now);
  }
}

/** The Service of a slice or Service of the model. */
function serviceOf(key: string): string {
  return key.replace(/-[0-9]$/, '');
}

function same(a: Seen, b: Seen): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (b.get(key) !== value) return false;
  return true;
}

function fail(when: string, view: View, service: string, seen: Seen, allowed: Seen[]): never {
  const inShort = (state: Seen) =>
    JSON.stringify(
      [...state].map(([key, text]) => [
        key,
        text.match(/(10\.0\.0\.|fd00::)\d/g),
        text.includes('z1"}'),
      ]),
    );
  const options = [...new Set(allowed.map(inShort))].join('\n or ');
  throw new Error(
    `${when} ${view.codec.encoding} ${view.resource.plural} of ${service} are\n    ${inShort(seen)}\n not ${options}`,
  );
}
