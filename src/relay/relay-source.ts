import { setTimeout as delay } from 'node:timers/promises';
import { CODECS } from '../client/api/codecs.ts';
import { type Query, queryPath } from '../client/api/query.ts';
import { CollectionClient } from '../client/reflector/collection-client.ts';
import { Reflector, type ReflectorStatus } from '../client/reflector/reflector.ts';
import type { ReflectorContext } from '../client/reflector/reflector-options.ts';
import { WrapperError } from '../errors.ts';
import type { ObjectBytes, ObjectMeta, RawEvent } from '../filter/codec/codec.ts';
import type { Change, ChangeHandler } from '../filter/objects/change.ts';
import type { Resource } from '../filter/objects/resource.ts';
import type { LogBounds } from '../filter/view/event-log.ts';
import { parseUpstreamVersion } from '../filter/view/version-allocator.ts';
import { View } from '../filter/view/view.ts';
import { createViewMemory } from '../node/views/view-memory.ts';
import { reencoding, type SourceRole, type ViewSource } from '../node/views/view-source.ts';
import { SingleFlight } from '../util/single-flight.ts';

export interface RelayContext extends ReflectorContext {
  /** See ViewBounds. */
  readonly window: LogBounds;
  /** A view without news from the API server for this long is not served, in milliseconds; default 30,000, as Line. */
  readonly silenceMs?: number | undefined;
}

/** What a client receives that reads metadata only. */
const PARTIAL: Resource = {
  group: 'meta.k8s.io',
  version: 'v1',
  plural: '',
  kind: 'PartialObjectMetadata',
  namespaced: false,
};
const SILENCE_MS = 30_000;
/** How long a request for a version that the view has not reached waits, in milliseconds (apiserver's blockTimeout). */
const CATCH_UP_MS = 3_000;
/** How often such a request looks whether it has, in milliseconds. */
const POLL_MS = 20;
/**
 * A watch of this many seconds has a bookmark after the first one (nextBookmarkTime in apiserver's cache_watcher.go).
 */
const SHORT_WATCH_SECONDS = 3;

/**
 * One query as the API server has it, with the API server's own versions. Invariant: the log has every change between
 * the version of its start and its newest version, once and in order. What cannot be proven to be complete ends the
 * watches, and the log starts again.
 */
export class RelaySource implements ViewSource, ChangeHandler {
  readonly query: Query;
  readonly view: View;
  readonly projection = undefined;
  readonly #silenceMs: number;
  readonly #reflector: Reflector<ObjectMeta>;
  readonly #shortWatch: CollectionClient;
  readonly #probing = new SingleFlight<void>();
  readonly #closed = new AbortController();
  /** Version of the last change in the log, or of its start. */
  #last = 0n;
  /** The version to which the changes lead that follow, and whether they came with a list. */
  #next = { version: 0n, isList: true };

  constructor(context: RelayContext, query: Query, { reserve }: SourceRole) {
    const { versions, window, ownMemory, silenceMs = SILENCE_MS } = context;
    const { resource, encoding, metadataOnly = false } = query;
    const codec = CODECS[encoding];
    this.query = query;
    this.#silenceMs = silenceMs;
    this.view = new View({ resource: metadataOnly ? PARTIAL : resource, codec, versions, window });
    const { view, projection } = this;
    const memory =
      reserve === undefined
        ? ownMemory?.account()
        : createViewMemory({ view, projection, hasSnapshots: false, reserve });
    this.#shortWatch = new CollectionClient({
      ...context,
      query,
      watchSeconds: SHORT_WATCH_SECONDS,
    });
    this.#reflector = new Reflector({
      ...context,
      query,
      decode: (object) => codec.meta(object),
      handler: reencoding(view, this),
      memory,
      onUnanswerable: (error) => view.refuse(error ?? this.refusal),
    });
  }

  get status(): ReflectorStatus {
    return this.#reflector.status;
  }

  /**
   * Why it must not be served: the API server is lost, or has not answered yet. Undefined: it is served, or will be.
   */
  get refusal(): WrapperError | undefined {
    const { connected, synced, staleMs, error } = this.status;
    if (connected || (synced ? staleMs < this.#silenceMs : error === undefined)) return undefined;
    const why = error === undefined ? '' : `: ${error.message}`;
    const what = `this relay receives no changes of ${queryPath(this.query)} from the API server`;
    return new WrapperError('Unreachable', `${what}${why}`);
  }

  find(key: string): ObjectBytes | undefined {
    return this.view.get(key);
  }

  onVersion(resourceVersion: string, isList: boolean): void {
    const version = parseUpstreamVersion(resourceVersion) ?? 0n;
    this.#next = { version, isList };
    if (!isList) this.view.log.reach(version);
  }

  onChanges(changes: readonly Change[]): void {
    let continues = true;
    for (const change of changes) continues = this.#apply(change) && continues;
    if (this.#next.isList) return;
    if (continues) this.view.log.commit();
    else this.#restart();
  }

  onSynced(): void {
    this.#restart();
  }

  /** Waits until the view has reached a version. Rejects with `TooLargeResourceVersion`, or why the view is closed. */
  async catchUp(version = 0n): Promise<void> {
    const { view } = this;
    const end = performance.now() + CATCH_UP_MS;
    while (view.log.version < version) {
      if (view.closed !== undefined) throw view.closed;
      if (performance.now() > end) {
        const message = `Too large resource version: ${version}, current: ${view.log.version}`;
        throw new WrapperError('TooLargeResourceVersion', message);
      }
      await Promise.race([this.#probing.run(() => this.#probe()), delay(POLL_MS)]);
    }
  }

  /** Reaches the newest version if the API server answers soon. */
  async reachNewest(): Promise<void> {
    const late = delay(SHORT_WATCH_SECONDS * 1000, undefined, { ref: false });
    await Promise.race([this.#probing.run(() => this.#probe()), late]);
  }

  close(): Promise<void> {
    this.#closed.abort();
    return this.#reflector.close();
  }

  /** Returns whether the change follows the last one. */
  #apply(change: Change): boolean {
    const { type, key } = change;
    const { resourceVersion = '0' } = type === 'DELETED' ? change : change.facts;
    const version = BigInt(resourceVersion);
    const continues = version > this.#last;
    this.#last = version;
    if (type === 'DELETED') this.view.delete(key, version);
    else this.view.set(key, change.object, {}, version);
    return continues;
  }

  #restart(): void {
    this.#last = this.#next.version;
    this.view.startAt(this.#last);
  }

  /**
   * Asks how far the API server has come, because a quiet collection has one bookmark a minute. If a watch from the
   * newest version begins with a bookmark, nothing has changed between the two. What has changed arrives by itself.
   */
  async #probe(): Promise<void> {
    const { view } = this;
    const { log, codec } = view;
    const enough = new AbortController();
    const signal = AbortSignal.any([enough.signal, this.#closed.signal]);
    const events = ([first]: readonly RawEvent[]): void => {
      enough.abort();
      if (first?.type !== 'BOOKMARK' || view.log !== log) return;
      log.reach(parseUpstreamVersion(codec.meta(first.object).resourceVersion) ?? 0n);
    };
    const handlers = { accepted: async () => {}, events };
    // A failure is the reflector's to report; here the version is just not reached.
    await this.#shortWatch.watch(String(log.version), signal, handlers).catch(() => delay(POLL_MS));
  }
}
