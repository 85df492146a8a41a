import { type ModelLabels, type ModelService, viewOf } from '../../support/model.ts';
import { SELF } from './cluster-backend.ts';
import { SEQ } from './cluster-writes.ts';
import type { SeenObject } from './kept-client.ts';
import type { Timeline, TimelineSlice } from './timeline.ts';

/** Positions in the histories of the inputs of one Service, up to which a view can have come. */
interface Position {
  readonly policy: number;
  readonly self: number;
  readonly nodes: number;
}

/** Where the view of one Service is known to be. */
interface Progress {
  readonly slices: Map<string, number>;
  positions: readonly Position[];
}

/**
 * Compares the view of a client with all states that are allowed at any moment, also while a fault lasts. The queries of
 * the wrapper fall behind on their own, so a view may combine an older policy with newer slices. It may not
 *
 * - show an object, or an endpoint, that no write has made, or that the policy forbids in each allowed combination;
 * - lose an object that was not deleted;
 * - combine inputs of which one is older than it was in an earlier view (back in time).
 */
export class ViewJudge {
  readonly #timeline: Timeline;
  readonly #report: (problem: string) => void;
  readonly #progress = new Map<string, Progress>();
  readonly #serviceSeqs = new Map<string, number>();
  readonly #evaluated = new Map<string, string>();
  /** Positions of the inputs when the clients were last right: nothing older is allowed. */
  #floor = { self: 0, nodes: 0, objects: new Map<string, number>() };
  /** See FaultKind.mayGoBack. */
  mayGoBack = false;
  /** The API server may have refused the node set: then the key matches this node only. */
  mayMatchSelfOnly = false;

  constructor(timeline: Timeline, report: (problem: string) => void) {
    this.#timeline = timeline;
    this.#report = report;
  }

  /** The clients are right: nothing older is allowed from now on. */
  restart(): void {
    const { self, nodes, serviceNames, sliceNames } = this.#timeline;
    const last = (values: { readonly all: readonly unknown[] }) => values.all.length - 1;
    this.#floor = {
      ...{ self: last(self), nodes: last(nodes) },
      objects: new Map([
        ...serviceNames.map((name) => [name, last(this.#timeline.service(name))] as const),
        ...sliceNames.map((name) => [name, last(this.#timeline.slice(name))] as const),
      ]),
    };
    this.#progress.clear();
    this.#serviceSeqs.clear();
    this.#evaluated.clear();
  }

  #floorOf(name: string): number {
    return this.#floor.objects.get(name) ?? 0;
  }

  /** A slice was received. */
  slice(name: string, object: SeenObject | undefined): void {
    const values = this.#timeline.slice(name).all;
    if (object === undefined) {
      if (!this.#mayBeAbsent(name)) this.#report(`slice ${name} vanished and was never deleted`);
      return;
    }
    const progress = this.#progressOf(name.slice(0, -2));
    const seq = seqOf(object);
    const from = this.mayGoBack ? 0 : (progress.slices.get(name) ?? this.#floorOf(name));
    const index = values.findIndex((value, at) => at >= from && value?.seq === seq);
    if (index < 0) {
      const known = values.map((value) => value?.seq ?? 'none').join();
      this.#report(`slice ${name} shows write ${seq}; allowed from ${from} on of: ${known}`);
      return;
    }
    progress.slices.set(name, index);
    const written = new Set(addressesOf(values[index]));
    const strange = shownBy(object).filter((address) => !written.has(address));
    if (strange.length > 0)
      this.#report(`slice ${name} shows ${strange}, which write ${seq} has not`);
  }

  /** A Service was received. */
  service(name: string, object: SeenObject | undefined): void {
    const values = this.#timeline.service(name).all;
    if (object === undefined) {
      const wasPending = values.includes(undefined, this.mayGoBack ? 0 : this.#floorOf(name));
      if (!wasPending) this.#report(`Service ${name} vanished and was never deleted`);
      return;
    }
    const from = this.mayGoBack ? 0 : (this.#serviceSeqs.get(name) ?? this.#floorOf(name));
    const index = values.findIndex((value, at) => at >= from && value?.seq === seqOf(object));
    if (index < 0)
      this.#report(`Service ${name} shows write ${seqOf(object)}, which is not allowed`);
    else this.#serviceSeqs.set(name, index);
  }

  /** All that arrived together was applied: each Service must be explained by one combination of its inputs. */
  judge(objects: ReadonlyMap<string, SeenObject>): void {
    for (const service of this.#timeline.serviceNames) {
      const slices = new Map([...objects].filter(([name]) => name.slice(0, -2) === service).sort());
      if (slices.size > 0) this.#judgeService(service, slices);
    }
  }

  #judgeService(service: string, shown: ReadonlyMap<string, SeenObject>): void {
    const raw = new Map<string, TimelineSlice>();
    for (const [name, object] of shown) {
      const seq = seqOf(object);
      const value = this.#timeline.slice(name).all.find((each) => each?.seq === seq);
      if (value === undefined) return;
      raw.set(name, value);
    }
    const seen = [...shown].map(([name, object]) => `${name}:${shownBy(object)}`).join(' ');
    const progress = this.#progressOf(service);
    const explaining = this.#explain(service, raw, seen, progress.positions);
    if (explaining.length > 0) progress.positions = explaining;
    else
      this.#report(
        `Service ${service} shows ${seen}; no allowed combination of ${this.#inputs(service)} does; it had reached ${JSON.stringify(progress.positions.slice(0, 8))}`,
      );
  }

  /** The combinations, each not older than one of the earlier ones, that give what is shown. */
  #explain(
    service: string,
    raw: ReadonlyMap<string, TimelineSlice>,
    seen: string,
    before: readonly Position[],
  ): Position[] {
    const { self, nodes } = this.#timeline;
    const policies = this.#timeline.service(service).all;
    const found: Position[] = [];
    for (const [policy, described] of policies.entries()) {
      for (const [own, labels] of self.all.entries()) {
        for (const [members, others] of nodes.all.entries()) {
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
    raw: ReadonlyMap<string, TimelineSlice>,
    service: ModelService | undefined,
    self: ModelLabels,
    others: ReadonlyMap<string, ModelLabels>,
  ): string {
    const key = JSON.stringify([
      [...raw].map(([name, { seq }]) => [name, seq]),
      ...[service?.topologyKeys, self, [...others]],
    ]);
    const known = this.#evaluated.get(key);
    if (known !== undefined) return known;
    const name = [...raw.values()][0]?.object.service ?? '';
    const world = {
      nodes: new Map([...others, [SELF, self] as const]),
      services: new Map(service === undefined ? [] : [[name, service] as const]),
    };
    const view = viewOf(
      world,
      SELF,
      new Map([...raw].map(([slice, { object }]) => [slice, object])),
    );
    const text = [...view]
      .map(([slice, endpoints]) => `${slice}:${endpoints.map(({ address }) => address).sort()}`)
      .join(' ');
    this.#evaluated.set(key, text);
    return text;
  }

  #inputs(service: string): string {
    const policies = this.#timeline
      .service(service)
      .all.map((each) => each?.topologyKeys ?? 'none');
    const nodes = this.#timeline.nodes.all.map((each) =>
      [...each].map(([name, { site }]) => `${name}=${site}`).join(),
    );
    const own = this.#timeline.self.all.map(({ site }) => site);
    return JSON.stringify({ policies, own, nodes });
  }

  /** A slice is absent before it is created, after it was deleted, and while its Service is not decided yet. */
  #mayBeAbsent(name: string): boolean {
    const service = name.slice(0, -2);
    return (
      this.#timeline
        .slice(name)
        .all.includes(undefined, this.mayGoBack ? 0 : this.#floorOf(name)) ||
      this.#timeline
        .service(service)
        .all.includes(undefined, this.mayGoBack ? 0 : this.#floorOf(service))
    );
  }

  #progressOf(service: string): Progress {
    const progress = this.#progress.get(service) ?? {
      slices: new Map<string, number>(),
      positions: [
        { policy: this.#floorOf(service), self: this.#floor.self, nodes: this.#floor.nodes },
      ],
    };
    this.#progress.set(service, progress);
    return progress;
  }
}

/** Each site has its own node set, which may have come further than the one of another site. */
function isNotOlder(next: Position, last: Position, self: readonly ModelLabels[]): boolean {
  if (next.policy < last.policy || next.self < last.self) return false;
  const isSameSet = self[next.self]?.site === self[last.self]?.site;
  return !isSameSet || next.nodes >= last.nodes;
}

/** What a client must have when it is right, as lines that can be compared. */
export function wantedView(timeline: Timeline): ReadonlyMap<string, string> {
  const { self, nodes, services, slices } = timeline.state;
  const world = { nodes: new Map([...nodes, [SELF, self] as const]), services };
  const view = viewOf(
    world,
    SELF,
    new Map([...slices].map(([name, { object }]) => [name, object])),
  );
  return new Map(
    [...view].map(([name, endpoints]) => [
      name,
      `${slices.get(name)?.seq} ${endpoints.map(({ address }) => address).sort()}`,
    ]),
  );
}

/** The same of what a client has. */
export function shownView(objects: ReadonlyMap<string, SeenObject>): ReadonlyMap<string, string> {
  return new Map(
    [...objects].map(([name, object]) => [name, `${seqOf(object)} ${shownBy(object)}`]),
  );
}

function shownBy(object: SeenObject): string[] {
  return (object.endpoints ?? []).flatMap(({ addresses }) => addresses).sort();
}

function seqOf({ metadata }: SeenObject): number {
  return Number(metadata.annotations?.[SEQ]);
}

function addressesOf(slice: TimelineSlice | undefined): string[] {
  return (slice?.object.groups ?? []).flatMap(({ endpoints }) =>
    endpoints.map(({ address }) => address),
  );
}
