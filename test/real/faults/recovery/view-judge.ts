import type {
  Labels,
  ModelService,
  ModelSlice,
} from '../../../../harness/history/expected-view.ts';
import { viewOf } from '../../../../harness/history/history-view.ts';
import type { Timeline, Values } from '../../../../harness/history/timeline.ts';
import { SELF } from '../wrapper-under-test.ts';
import type { SeenObject } from './kept-client.ts';
import { addressesOf, seenText, seqOf, shownBy, slicesOf } from './shown-view.ts';

/** Positions in the histories of the inputs of one Service, up to which a view can have come. */
interface Position {
  readonly policy: number;
  readonly self: number;
  readonly nodes: number;
}

/** An index into the values of each input; of Services and slices by name. */
interface Indices {
  readonly self: number;
  readonly nodes: number;
  readonly objects: ReadonlyMap<string, number>;
}

/**
 * Compares the view of a client with all states that are allowed at any moment, also while a fault lasts. The queries
 * of the wrapper fall behind on their own, so a view may combine an older policy with newer slices. It may not
 *
 * - show an object, or an endpoint, that no write has made, or that the policy forbids in each allowed combination;
 * - lose an object that was not deleted;
 * - combine inputs of which one is older than it was in an earlier view (back in time).
 */
export class ViewJudge {
  readonly #timeline: Timeline;
  readonly #report: (problem: string) => void;
  /** Where the view of each Service is known to be. */
  readonly #positions = new Map<string, readonly Position[]>();
  /** The newest value of each Service and slice that the client has had. */
  readonly #newest = new Map<string, number>();
  readonly #evaluated = new Map<string, string>();
  /** The inputs when the clients were last right: nothing older is allowed. */
  #floor: Indices = { self: 0, nodes: 0, objects: new Map() };
  /** What a process may find on its disk: everything older is forgotten. */
  #oldest = this.#floor;
  /** The oldest policy of each Service that the view may still have had then. */
  readonly #oldestPolicy = new Map<string, number>();
  /** See FaultKind.mayGoBack. */
  mayGoBack = false;
  /** The API server may have refused the node set: then the key matches this node only. */
  mayMatchSelfOnly = false;

  constructor(timeline: Timeline, report: (problem: string) => void) {
    this.#timeline = timeline;
    this.#report = report;
  }

  /**
   * The clients are right: nothing older is allowed from now on. That a view is right does not prove that each query of
   * the wrapper has caught up. A Service that was deleted and created again with the same policy looks the same before
   * and after, and the wrapper reads Services for its decisions with another query than a client in JSON. So all
   * combinations are allowed that explain the view now.
   *
   * @param objects what the client of slices has
   * @param keep so many values of each input are remembered
   */
  restart(objects: ReadonlyMap<string, SeenObject>, keep: number): void {
    const possible = this.#possibleNow(objects);
    this.#floor = this.#last(1);
    this.#oldest = this.#last(keep);
    for (const map of [this.#positions, this.#newest, this.#oldestPolicy, this.#evaluated]) {
      map.clear();
    }
    for (const [service, all] of possible) {
      const positions = all.filter((each) => this.#isAtLeast(this.#oldest, service, each));
      this.#positions.set(service, positions);
      this.#oldestPolicy.set(service, Math.min(...positions.map(({ policy }) => policy)));
    }
  }

  /** Of each input the index of the first one of its newest `count` values. */
  #last(count: number): Indices {
    const timeline = this.#timeline;
    const first = ({ all }: { readonly all: readonly unknown[] }) =>
      Math.max(0, all.length - count);
    return {
      self: first(timeline.self),
      nodes: first(timeline.nodes),
      objects: new Map([
        ...timeline.services.names.map(
          (name) => [name, first(timeline.services.of(name))] as const,
        ),
        ...timeline.slices.names.map((name) => [name, first(timeline.slices.of(name))] as const),
      ]),
    };
  }

  #isAtLeast(least: Indices, service: string, { policy, self, nodes }: Position): boolean {
    return policy >= indexOf(least, service) && self >= least.self && nodes >= least.nodes;
  }

  /** The combinations that explain what is shown now. All Services see the same labels. */
  #possibleNow(objects: ReadonlyMap<string, SeenObject>): Map<string, readonly Position[]> {
    const exceptions = [this.mayGoBack, this.mayMatchSelfOnly] as const;
    [this.mayGoBack, this.mayMatchSelfOnly] = [false, false];
    const possible = new Map<string, readonly Position[]>();
    for (const service of this.#timeline.services.names) {
      const shown = slicesOf(service, objects);
      const raw = this.#rawOf(shown);
      if (shown.size === 0 || raw === undefined) continue;
      const before = this.#positionsOf(service);
      const found = this.#explain(service, raw, seenText(shown), before).filter((each) =>
        // A lag that is older has ended.
        this.#isAtLeast(this.#floor, service, each),
      );
      if (found.length > 0) possible.set(service, found);
    }
    [this.mayGoBack, this.mayMatchSelfOnly] = exceptions;
    const labels = ({ self, nodes }: Position) => `${self} ${nodes}`;
    const sets = [...possible.values()].map((positions) => new Set(positions.map(labels)));
    for (const [service, positions] of possible) {
      const agreed = positions.filter((each) => sets.every((set) => set.has(labels(each))));
      if (agreed.length > 0) possible.set(service, agreed);
      else possible.delete(service);
    }
    return possible;
  }

  /** The first index of an object that is allowed, if no client has seen a newer one. */
  #firstOf(name: string): number {
    return indexOf(this.mayGoBack ? this.#oldest : this.#floor, name);
  }

  /** A slice was received. */
  slice(name: string, object: SeenObject | undefined): void {
    if (object === undefined) {
      if (!this.#mayBeAbsent(name)) this.#report(`slice ${name} vanished and was never deleted`);
      return;
    }
    const value = this.#advance(`slice ${name}`, this.#timeline.slices.of(name), name, object);
    if (value === undefined) return;
    const written = new Set(addressesOf(value));
    const strange = shownBy(object).filter((address) => !written.has(address));
    if (strange.length > 0)
      this.#report(`slice ${name} shows ${strange}, which write ${value.version} has not`);
  }

  /** A Service was received. */
  service(name: string, object: SeenObject | undefined): void {
    const values = this.#timeline.services.of(name);
    if (object !== undefined) this.#advance(`Service ${name}`, values, name, object);
    else if (!values.all.includes(undefined, this.#firstOf(name)))
      this.#report(`Service ${name} vanished and was never deleted`);
  }

  /** Returns the value that an object comes from, unless that is older than the client's last one. */
  #advance<T extends { readonly version: number }>(
    what: string,
    { all }: Values<T | undefined>,
    name: string,
    object: SeenObject,
  ): T | undefined {
    const seq = seqOf(object);
    const from = (this.mayGoBack ? undefined : this.#newest.get(name)) ?? this.#firstOf(name);
    const index = all.findIndex((value, at) => at >= from && value?.version === seq);
    if (index >= 0) this.#newest.set(name, index);
    else {
      const known = all.map((value) => value?.version ?? 'none').join();
      this.#report(`${what} shows write ${seq}; allowed from ${from} on of: ${known}`);
    }
    return all[index];
  }

  /** All that arrived together was applied: each Service must be explained by one combination of its inputs. */
  judge(objects: ReadonlyMap<string, SeenObject>): void {
    for (const service of this.#timeline.services.names) {
      const slices = slicesOf(service, objects);
      if (slices.size > 0) this.#judgeService(service, slices);
    }
  }

  #judgeService(service: string, shown: ReadonlyMap<string, SeenObject>): void {
    const raw = this.#rawOf(shown);
    if (raw === undefined) return;
    const seen = seenText(shown);
    const before = this.#positionsOf(service);
    const explaining = this.#explain(service, raw, seen, before);
    if (explaining.length > 0) this.#positions.set(service, explaining);
    else
      this.#report(
        `Service ${service} shows ${seen}; no allowed combination of ${this.#inputs(service)} does; it had reached ${JSON.stringify(before.slice(0, 8))}`,
      );
  }

  /** The writes that slices come from; undefined: one of them never was. */
  #rawOf(shown: ReadonlyMap<string, SeenObject>): Map<string, ModelSlice> | undefined {
    const raw = new Map<string, ModelSlice>();
    for (const [name, object] of shown) {
      const seq = seqOf(object);
      const value = this.#timeline.slices.of(name).all.find((each) => each?.version === seq);
      if (value === undefined) return undefined;
      raw.set(name, value);
    }
    return raw;
  }

  /** The combinations, each not older than one of the earlier ones, that give what is shown. */
  #explain(
    service: string,
    raw: ReadonlyMap<string, ModelSlice>,
    seen: string,
    before: readonly Position[],
  ): Position[] {
    const { self, nodes } = this.#timeline;
    const policies = this.#timeline.services.of(service);
    const found: Position[] = [];
    for (const [policy, described] of since(policies, indexOf(this.#oldest, service))) {
      for (const [own, labels] of since(self, this.#oldest.self)) {
        for (const [members, others] of since(nodes, this.#oldest.nodes)) {
          const position = { policy, self: own, nodes: members };
          const isAllowed =
            this.mayGoBack || before.some((each) => isNotOlder(position, each, self.all));
          if (!isAllowed) continue;
          if (this.#evaluate(raw, described, labels, others) === seen) found.push(position);
          else if (this.mayMatchSelfOnly) {
            if (this.#evaluate(raw, described, labels, new Map()) === seen) found.push(position);
          }
        }
      }
    }
    return found;
  }

  #evaluate(
    raw: ReadonlyMap<string, ModelSlice>,
    service: ModelService | undefined,
    self: Labels,
    others: ReadonlyMap<string, Labels>,
  ): string {
    const key = JSON.stringify([
      [...raw].map(([name, { version }]) => [name, version]),
      service?.annotations.topologyKeys,
      self,
      [...others],
    ]);
    const known = this.#evaluated.get(key);
    if (known !== undefined) return known;
    const name = [...raw.values()][0]?.service ?? '';
    const services = new Map(service === undefined ? [] : [[name, service] as const]);
    const text = [...viewOf({ self, nodes: others, services }, SELF, raw)]
      .map(([slice, { endpoints }]) => `${slice}:${endpoints.map(({ address }) => address).sort()}`)
      .join(' ');
    this.#evaluated.set(key, text);
    return text;
  }

  #inputs(service: string): string {
    const timeline = this.#timeline;
    const policies = since(timeline.services.of(service), indexOf(this.#oldest, service)).map(
      ([, policy]) => policy?.annotations.topologyKeys ?? 'none',
    );
    const nodes = since(timeline.nodes, this.#oldest.nodes).map(([, each]) =>
      [...each].map(([name, { site }]) => `${name}=${site}`).join(),
    );
    const own = since(timeline.self, this.#oldest.self).map(([, { site }]) => site);
    return JSON.stringify({ policies, own, nodes });
  }

  /** A slice is absent before it is created, after it was deleted, and while its Service is not decided yet. */
  #mayBeAbsent(name: string): boolean {
    const service = name.slice(0, -2);
    const oldestPolicy = this.mayGoBack ? undefined : this.#oldestPolicy.get(service);
    return (
      this.#timeline.slices.of(name).all.includes(undefined, this.#firstOf(name)) ||
      this.#timeline.services
        .of(service)
        .all.includes(undefined, oldestPolicy ?? this.#firstOf(service))
    );
  }

  #positionsOf(service: string): readonly Position[] {
    const { self, nodes } = this.#floor;
    const floor = [{ policy: indexOf(this.#floor, service), self, nodes }];
    return this.#positions.get(service) ?? floor;
  }
}

function indexOf({ objects }: Indices, name: string): number {
  return objects.get(name) ?? 0;
}

/** The values from an index on, each with its index. */
function since<T>({ all }: Values<T>, index: number): (readonly [number, T])[] {
  return all.slice(index).map((value, at) => [index + at, value] as const);
}

/** Each site has its own node set, which may have come further than the one of another site. */
function isNotOlder(next: Position, last: Position, self: readonly Labels[]): boolean {
  if (next.policy < last.policy || next.self < last.self) return false;
  const isSameSet = self[next.self]?.site === self[last.self]?.site;
  return !isSameSet || next.nodes >= last.nodes;
}
