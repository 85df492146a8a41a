import { WrapperError } from '../../errors.ts';
import { tooManyObjects } from '../../filter/codec/bytes/malformed.ts';
import { ownedCopy } from '../../filter/codec/bytes/owned-copy.ts';
import type {
  DecodedChunk,
  Encoding,
  ObjectBytes,
  ObjectMeta,
  RawEvent,
  RawList,
  WatchDecoder,
} from '../../filter/codec/codec.ts';
import { isUpstreamVersion } from '../../filter/view/version-allocator.ts';
import { READ_ANNOTATIONS } from '../../topology/policy/key-sources.ts';
import { type Clock, systemClock } from '../../util/clock.ts';
import { CODECS } from '../api/codecs.ts';
import { acceptOf, MEDIA_TYPES } from '../api/media-type.ts';
import { type Query, queryPath } from '../api/query.ts';
import { otherEncoding } from '../api/request-error.ts';
import type { Upstream, UpstreamResponse } from '../upstream/upstream.ts';
import { readBuffers } from '../upstream/upstream-body.ts';
import { isListOf, mediaType } from './end-of-response.ts';
import type { KnownState } from './older-state.ts';
import { QueryLimits } from './query-limits.ts';
import type { ReflectorOptions } from './reflector-options.ts';
import { withTimeouts } from './request-timeouts.ts';
import { beginsAsList, foreignAnswer, readRefusal } from './response-errors.ts';
import { assertReached, type CheckedState } from './version-check.ts';

/** A list with all its pages. */
export interface Listed {
  readonly resourceVersion: string;
  readonly items: readonly ObjectBytes[];
  /** Objects whose annotations were cut, because the list would be too large with them. */
  readonly reduced: number;
  /** `host:port` of the API server that sent the end of it. */
  readonly address: string;
  /** In which all items are. */
  readonly encoding: Encoding;
  /** See RawList. */
  readonly selfLink: string;
}

/** A list, or a page of one, and the `host:port` of its API server. */
type Page = RawList & Pick<Listed, 'address' | 'encoding'>;

/** A watch that an API server has accepted. */
export interface AcceptedWatch {
  /** `host:port` of that API server. */
  readonly address: string;
  /** In which its events are. */
  readonly encoding: Encoding;
  /** Aborted when the watch ends. */
  readonly signal: AbortSignal;
  /** The API server has shown that it is there: {@link WATCH_SILENCE_MS} begins again. */
  readonly onProgress: () => void;
  /** It sends no bookmarks: its silence shows nothing. */
  readonly allowSilence: () => void;
}

/** Receives what a watch brings. */
export interface WatchHandlers {
  /** No event is read until this resolves. What it throws ends the watch. */
  accepted(watch: AcceptedWatch): Promise<void>;
  /**
   * Called with the events that one turn of the event loop has brought (see UpstreamBody): at least one, and at most
   * 256 in each call.
   */
  events(events: readonly RawEvent[]): void;
}

/**
 * A watch that completes no event within this time is dead, in milliseconds. The API server sends a bookmark about
 * once a minute, up to 75 s apart (bookmarkFrequency and its jitter in apiserver storage/cacher). A Line
 * detects a lost server or network path sooner.
 */
const WATCH_SILENCE_MS = 90_000;
/** An event that has begun and does not go on for this long is none, or is lost, in milliseconds. */
const EVENT_SILENCE_MS = 10_000;
/** MetaServer has an empty store then, and does not say what it was refused. */
const UNVERSIONED =
  " without a resourceVersion, as of KubeEdge's MetaServer while CloudCore may not list these";
/** A list whose body sends nothing for this long is dead, in milliseconds. */
const LIST_SILENCE_MS = 30_000;
/** The longest time for one page of a list, in milliseconds: 15 MB at 512 kbit/s take 4 minutes. */
const LIST_MS = 300_000;
/** A watch that ends at most this much before its timeout has ended in its time, in milliseconds. */
const EARLY_MS = 1_000;

/** Events in a batch. A commit must fit into the window of any view, or it would expire the view's own watchers. */
const BATCH_EVENTS = 256;
/** Objects on a page of a list that is too large as a whole. If a page is too large, the next ones have a fifth. */
const PAGE_OBJECTS = 200;
/** Objects on the smallest page: etcd takes at most 1.5 MiB of each. */
const MIN_PAGE_OBJECTS = 20;
/** The size in bytes from which an object on such a page loses annotations, of which it may have 256 KB. */
const REDUCED_BYTES = 32 * 1024;

interface PageOptions {
  readonly query?: Query;
  /** It requests a whole list: it waits for its turn, and counts when it begins to arrive. */
  readonly isFirst?: boolean;
  /** Called with the bytes of each chunk before they are kept. What it throws ends the request. */
  readonly onBytes?: (length: number) => void;
}

export type CollectionClientOptions = Pick<
  ReflectorOptions<ObjectMeta>,
  'query' | 'readLimits' | 'clock' | 'memory' | 'random' | 'forOthers'
> & {
  readonly upstream: Pick<Upstream, 'request'>;
  /** How long a watch lasts, in seconds; default: 300 to 600, as in client-go. */
  readonly watchSeconds?: number;
};

/**
 * Lists and watches one query at the API server, in its encoding, or in JSON where the server offers no other. A
 * response that is not from an API server counts as `Unreachable`.
 */
export class CollectionClient {
  readonly #options: CollectionClientOptions;
  readonly #limits: QueryLimits;
  readonly #clock: Clock;
  /** The last list was too large: the next one is read in pages of so many objects. */
  #pageObjects: number | undefined;

  constructor(options: CollectionClientOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#limits = new QueryLimits(this.#clock);
  }

  /**
   * Lists the collection at this version or newer (`0`: any; empty: the newest).
   * Throws `Refused` with the Status, `Unreachable`, `TooLarge`, or what `memory` throws. The caller calls
   * `memory.reading(0)` when it has used the items.
   *
   * After `TooLarge` the next list is read in pages, and large objects without annotations that neither kube-proxy nor
   * a policy reads: no owner of objects may stop the start of a node with them.
   */
  async list(version: string, signal: AbortSignal): Promise<Listed> {
    try {
      const listed = await this.#listAll(version, signal);
      if (listed.reduced === 0) this.#pageObjects = undefined;
      return listed;
    } catch (error) {
      if (error instanceof WrapperError && error.code === 'TooLarge') {
        const smaller = (this.#pageObjects ?? 5 * PAGE_OBJECTS) / 5;
        this.#pageObjects = Math.max(smaller, MIN_PAGE_OBJECTS);
      }
      throw error;
    }
  }

  async #listAll(version: string, signal: AbortSignal): Promise<Listed> {
    const { memory, readLimits } = this.#options;
    const inPages = this.#pageObjects !== undefined;
    const items: ObjectBytes[] = [];
    let reduced = 0;
    let bytes = 0;
    const onBytes = (length: number): void => {
      bytes += length;
      memory?.reading(bytes);
    };
    let token = '';
    let encoding: Encoding | undefined;
    for (;;) {
      const parameters = new URLSearchParams();
      if (token !== '') parameters.set('continue', token);
      // With a limit, an API server takes a version for an exact one, and ignores the limit with version 0.
      else if (version !== '' && !inPages) parameters.set('resourceVersion', version);
      if (inPages) parameters.set('limit', String(this.#pageObjects));
      const before = bytes;
      const page = await this.#listPage(parameters, signal, { onBytes, isFirst: token === '' });
      // Another server has sent the next page.
      encoding ??= page.encoding;
      if (page.encoding !== encoding) throw otherEncoding(page.encoding);
      if (inPages) bytes = before;
      // Not push(...items): a page may have more items than a call accepts arguments.
      for (const item of page.items) {
        const own = inPages ? this.#reduce(item) : item;
        if (inPages) bytes += own.length;
        if (own.length < item.length) reduced++;
        items.push(own);
      }
      if (inPages) memory?.reading(bytes);
      if (items.length > readLimits.maxObjects) throw tooManyObjects(readLimits.maxObjects);
      token = page.continue;
      if (token !== '') continue;
      const { resourceVersion, selfLink, address } = page;
      return { resourceVersion, selfLink, items, reduced, address, encoding };
    }
  }

  /** A copy, so that it does not keep its page alive; a large object without annotations that nobody reads here. */
  #reduce(object: ObjectBytes): ObjectBytes {
    if (object.length < REDUCED_BYTES) return ownedCopy(object);
    const { resource, encoding } = this.#options.query;
    const edit = { onlyAnnotations: READ_ANNOTATIONS };
    return ownedCopy(CODECS[encoding].edit(resource, object, edit));
  }

  /**
   * Watches from a version on. Resolves when the API server ends the stream: true if in its time, false if sooner, as
   * an API server does that stops. Throws as {@link list} does, and what a handler throws, which ends the watch.
   */
  async watch(version: string, outer: AbortSignal, handlers: WatchHandlers): Promise<boolean> {
    const { query, random = Math.random, readLimits } = this.#options;
    const started = this.#clock.now();
    // Spread, so that watches do not all end together.
    const timeout = this.#options.watchSeconds ?? Math.floor(300 + 300 * random());
    const parameters = new URLSearchParams({
      allowWatchBookmarks: 'true',
      resourceVersion: version,
      timeoutSeconds: String(timeout),
      watch: 'true',
    });
    return withTimeouts(outer, async (signal, limit) => {
      const silence = limit(WATCH_SILENCE_MS, 'completed no event');
      const event = limit(EVENT_SILENCE_MS, 'did not go on with an event');
      event.stop();
      let mayBeSilent = false;
      const onProgress = (): void => {
        if (!mayBeSilent) silence.restart();
      };
      const allowSilence = (): void => {
        mayBeSilent = true;
        silence.stop();
      };
      await this.#limits.request(false, signal);
      const response = await this.#get(query, parameters, signal);
      const encoding = await this.#assertServed(query, response, false);
      const decoder = CODECS[encoding].watchDecoder(readLimits.maxObjectBytes);
      let isFirst = true;
      const { address } = response;
      await handlers.accepted({ address, encoding, signal, onProgress, allowSilence });
      const reading = response.body.read((chunks) => {
        signal.throwIfAborted();
        const { events, fault } = decodeAll(decoder, chunks);
        if (events.length > 0) {
          isFirst = false;
          response.report('answered');
          // Whole events count, not bytes: an event that never ends is useless.
          onProgress();
        }
        for (let at = 0; at < events.length; at += BATCH_EVENTS) {
          handlers.events(events.slice(at, at + BATCH_EVENTS));
        }
        if (fault !== undefined) throw fault;
        if (decoder.isWithinEvent) event.restart();
        else event.stop();
      });
      await reading.catch((error) => {
        // Between events silence shows nothing. After some of them, the watch is first opened again.
        if (isFirst && decoder.isWithinEvent) reportSilence(response, error);
        throw error;
      });
      assertEnded(decoder);
      return this.#clock.now() - started >= timeout * 1000 - EARLY_MS;
    });
  }

  /** See {@link assertReached}. */
  assertReached(known: KnownState, state: CheckedState, signal: AbortSignal): Promise<void> {
    const version = { resourceVersion: known.version };
    const parameters = new URLSearchParams(state === 'cached' ? version : {});
    const list = (query: Query) => this.#listPage(parameters, signal, { query });
    return assertReached(this.#options.query, known, state, list);
  }

  async #listPage(
    parameters: URLSearchParams,
    caller: AbortSignal,
    { query = this.#options.query, isFirst = false, onBytes }: PageOptions = {},
  ): Promise<Page> {
    return withTimeouts(caller, async (signal, limit) => {
      limit(LIST_MS, 'did not end a list', 0);
      const silence = limit(LIST_SILENCE_MS, 'sent nothing in a list');
      silence.stop();
      await this.#limits.request(isFirst, signal);
      const response = await this.#get(query, parameters, signal, silence.restart);
      silence.restart();
      try {
        const encoding = await this.#assertServed(query, response, isFirst);
        // Items of JSON that are written in another way are there twice; see RawList.
        const held = encoding === 'json' ? 2 : 1;
        const onHeld = (length: number): void => onBytes?.(held * length);
        return await this.#readList(query, response, encoding, onHeld);
      } catch (error) {
        reportSilence(response, error);
        throw error;
      }
    });
  }

  /** Throws `Unreachable` unless the API server has sent the list, and to its end. */
  async #readList(
    query: Query,
    response: UpstreamResponse,
    encoding: Encoding,
    onBytes: (length: number) => void,
  ): Promise<Page> {
    const { maxListBytes, maxObjects } = this.#options.readLimits;
    const limits = { maxBytes: maxListBytes, setting: 'maxListBytes', onBytes };
    let buffers: readonly Buffer[] = [];
    let problem: string;
    try {
      buffers = await readBuffers(response, limits);
      const list = CODECS[encoding].decodeList(buffers, maxObjects);
      // An API server sends no list without a version.
      const isVersioned = list.resourceVersion !== '';
      if (isVersioned && isListOf(query, list)) {
        assertVersion(list.resourceVersion);
        // From the store of a cache it says nothing about the API server.
        if (list.selfLink === '') response.report('answered');
        return { ...list, address: response.address, encoding };
      }
      problem = `a ${list.kind}${isVersioned ? '' : UNVERSIONED}`;
    } catch (cause) {
      const { code, message } = WrapperError.from(cause, 'Unreachable');
      if (code !== 'Malformed' && code !== 'Refused') throw cause;
      // A body that breaks off may end as if it were complete; see Line.
      if (code === 'Malformed' && beginsAsList(buffers, query)) {
        const cut = `the list broke off, or is damaged: ${message}`;
        throw new WrapperError('Unreachable', cut, { cause });
      }
      problem = message;
    }
    response.report('foreign');
    throw foreignAnswer(query, response, problem);
  }

  /** Resolves with the headers of the response, whatever its status. */
  #get(
    query: Query,
    parameters: URLSearchParams,
    signal: AbortSignal,
    onBytes?: () => void,
  ): Promise<UpstreamResponse> {
    const isWatch = parameters.has('watch');
    const headers: Record<string, string> = { accept: acceptOf(query, isWatch) };
    if (!isWatch) headers['accept-encoding'] = 'gzip';
    const path = queryPath(query, parameters);
    const request = { method: 'GET', path, headers, signal, onBytes } as const;
    return this.#options.upstream.request(request);
  }

  /**
   * Resolves with the encoding of a response of 200, whose body shows who has sent it. Throws `Refused` with the Status
   * of the API server, and `Unreachable` if something else has answered.
   *
   * @param isList it counts as a list when the answer is 200, in whichever of the encodings
   */
  async #assertServed(
    query: Query,
    response: UpstreamResponse,
    isList: boolean,
  ): Promise<Encoding> {
    if (response.statusCode === 200) {
      const type = mediaType(response);
      const encoding = ENCODINGS.find((each) => MEDIA_TYPES[each] === type);
      if (isList && encoding !== undefined) this.#limits.onList();
      if (encoding === 'json' || encoding === query.encoding) return encoding;
    }
    throw await readRefusal(query, response, this.#options.forOthers);
  }
}

const ENCODINGS: readonly Encoding[] = ['json', 'protobuf'];

/**
 * Reports a server that has begun a body and sends no more of it. It may answer PINGs and small requests for ever, as
 * on a path that drops large packets. Bytes that arrive slowly are no silence. For relays see {@link RelayLimit}.
 */
function reportSilence(response: UpstreamResponse, error: unknown): void {
  const { silentMs = 0, message } = WrapperError.from(error, 'Unreachable');
  if (silentMs > 0 && response.isRelay !== true) response.report('unreachable', message);
}

/** Throws `Malformed`. */
function assertVersion(resourceVersion: string): void {
  if (isUpstreamVersion(resourceVersion)) return;
  const version = JSON.stringify(resourceVersion.slice(0, 40));
  throw new WrapperError('Malformed', `its resourceVersion is ${version}, which no API server has`);
}

/** A body that breaks off may end as if it were complete; see Line. */
function assertEnded(decoder: WatchDecoder): void {
  try {
    decoder.finish();
  } catch (cause) {
    throw new WrapperError('Unreachable', 'the watch broke off within an event', { cause });
  }
}

/** The events of these chunks, up to a fault. */
function decodeAll(decoder: WatchDecoder, chunks: readonly Buffer[]): DecodedChunk {
  const events: RawEvent[] = [];
  for (const chunk of chunks) {
    const decoded = decoder.push(chunk);
    for (const event of decoded.events) events.push(event);
    if (decoded.fault !== undefined) return { events, fault: decoded.fault };
  }
  return { events, fault: undefined };
}
