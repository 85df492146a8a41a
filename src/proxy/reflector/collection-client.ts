import { type Status, WrapperError } from '../../errors.ts';
import type { Codec, ObjectBytes, RawEvent, RawList } from '../../filter/codec/codec.ts';
import { decodeStatus as decodeJsonStatus } from '../../filter/codec/json/decode.ts';
import { type Query, queryPath } from '../api/query.ts';
import type { ReadLimits } from '../api/read-limits.ts';
import { isUsableResponse } from '../upstream/reachability.ts';
import { RequestTimeouts } from '../upstream/request-timeouts.ts';
import {
  readBody,
  readPieces,
  type Upstream,
  type UpstreamResponse,
} from '../upstream/upstream.ts';
import type { ReadMemory } from '../util/read-memory.ts';

/** A list, all its pages together. */
export interface Listed {
  readonly resourceVersion: string;
  readonly items: readonly ObjectBytes[];
}

/** Where a watch begins. */
export interface WatchStart {
  readonly version: string;
  /** The API server is known to have reached it; else it is asked whether it has. */
  readonly reached: boolean;
}

/** What a watch tells as it goes on. */
export interface WatchHandlers {
  /** The API server has agreed, and has reached the version. */
  opened(): void;
  /** Called with the events that have arrived together, never none, before anything else is read. */
  events(events: readonly RawEvent[]): void;
}

const MAX_STATUS_BYTES = 1024 * 1024;
/**
 * A watch of which no event is complete within this time is dead, in milliseconds. The API server sends a
 * bookmark about once a minute, up to 75 s apart (bookmarkFrequency and its jitter in apiserver
 * storage/cacher). A server or a path that is gone is found sooner: see Pulse.
 */
const SILENCE_MS = 90_000;
/** A list whose body stands still for this long is dead, in milliseconds. */
const LIST_SILENCE_MS = 30_000;
/** No page of a list takes longer than this, in milliseconds: 15 MB at 512 kbit/s take 4 minutes. */
const LIST_MS = 300_000;
/** An API server ends a watch in its own time at most this much before, in milliseconds. */
const EARLY_MS = 1_000;
/** A name that no object has; if one had it, it would be listed in vain. */
const NOBODY = 'nobody.kube-proxy-wrapper.io';

interface PageOptions {
  readonly query?: Query;
  /** Told how many bytes have come, before they are kept; what it throws ends the request. */
  readonly onBytes?: (length: number) => void;
}

/** Asks the API server one question, in one encoding. */
export class CollectionClient {
  readonly #upstream: Upstream;
  readonly #codec: Codec;
  readonly #query: Query;
  readonly #metadataOnly: boolean;
  readonly #bounds: ReadLimits;
  readonly #memory: Pick<ReadMemory, 'reading'>;
  readonly #random: () => number;

  constructor(options: {
    readonly upstream: Upstream;
    readonly codec: Codec;
    readonly query: Query;
    readonly metadataOnly: boolean;
    readonly bounds: ReadLimits;
    /** Told of the bytes of a list as they are read; default: nobody is. */
    readonly memory?: Pick<ReadMemory, 'reading'> | undefined;
    readonly random?: () => number;
  }) {
    this.#upstream = options.upstream;
    this.#codec = options.codec;
    this.#query = options.query;
    this.#metadataOnly = options.metadataOnly;
    this.#bounds = options.bounds;
    this.#memory = options.memory ?? { reading: () => {} };
    this.#random = options.random ?? Math.random;
  }

  /**
   * Lists the collection at this version or newer (`0`: any; empty: the newest).
   * Throws `Refused` with the Status, `Unreachable`, `Malformed`, `TooLarge`, or what `memory` throws. Who is done with
   * the items tells `memory` so.
   */
  async list(version: string, signal: AbortSignal): Promise<Listed> {
    const items: ObjectBytes[] = [];
    let bytes = 0;
    // To be decoded, JSON is joined; see its decodeList.
    const held = this.#codec.encoding === 'json' ? 2 : 1;
    const onBytes = (length: number): void => {
      bytes += held * length;
      this.#memory.reading(bytes);
    };
    let token = '';
    for (;;) {
      const parameters = new URLSearchParams();
      if (token !== '') parameters.set('continue', token);
      else if (version !== '') parameters.set('resourceVersion', version);
      const page = await this.#listPage(parameters, signal, { onBytes });
      // A page may have more items than a call has room for arguments.
      for (const item of page.items) items.push(item);
      if (items.length > this.#bounds.maxObjects) {
        const problem = `a list of more than maxObjects=${this.#bounds.maxObjects} objects`;
        throw new WrapperError('TooLarge', problem);
      }
      token = page.continue;
      if (token === '') return { resourceVersion: page.resourceVersion, items };
    }
  }

  /**
   * Watches from a version on; resolves when the API server ends the stream, with whether that was in its time:
   * an API server that stops ends it sooner. Throws as {@link list} does, and what a handler throws, which ends
   * the watch; when the API server has not reached the version, after about 3 s, `Refused` with the cause
   * ResourceVersionTooLarge, and when it does not say whether it has, `Refused` with 410.
   */
  async watch(
    { version, reached }: WatchStart,
    signal: AbortSignal,
    handlers: WatchHandlers,
  ): Promise<boolean> {
    const started = performance.now();
    // As client-go: spread over 5 to 10 minutes, so that watches do not all end together.
    const timeout = Math.floor(300 + 300 * this.#random());
    const parameters = new URLSearchParams({
      allowWatchBookmarks: 'true',
      resourceVersion: version,
      timeoutSeconds: String(timeout),
      watch: 'true',
    });
    const decoder = this.#codec.watchDecoder(this.#bounds.maxObjectBytes);
    const deadline = new RequestTimeouts(signal);
    deadline.set('silence', SILENCE_MS, 'completed no event');
    try {
      const { body } = await this.#request(parameters, deadline.signal);
      // Not before: what it has reached now it cannot lose without ending the watch.
      if (!reached) await this.#assertReached(version, deadline.signal);
      handlers.opened();
      await body.each((chunk) => {
        const { events, fault } = decoder.push(chunk);
        if (events.length > 0) {
          // Whole events count, not bytes: of one that never ends nothing could be used.
          deadline.set('silence', SILENCE_MS, 'completed no event');
          handlers.events(events);
        }
        if (fault !== undefined) throw named(fault, 'maxObjectBytes');
      });
      decoder.finish();
      return performance.now() - started >= timeout * 1000 - EARLY_MS;
    } catch (error) {
      throw deadline.explain(error);
    } finally {
      deadline.end();
    }
  }

  /**
   * Makes sure that the API server's state has reached a version. It takes a watch from any later one all the
   * same, and drops all events and bookmarks up to there (watch_cache.go, cache_watcher.go). The question is a
   * list of a name that nothing has: answered from memory (waitUntilFreshAndList), and empty.
   */
  async #assertReached(version: string, signal: AbortSignal): Promise<void> {
    const parameters = new URLSearchParams({ resourceVersion: version });
    try {
      await this.#listPage(parameters, signal, { query: aboutVersion(this.#query) });
    } catch (error) {
      const status = error instanceof WrapperError ? error.status : undefined;
      // A collection that cannot be asked by name: the watch is tried without.
      if (status?.code === 400) return;
      if (status === undefined || mayPass(status.code)) throw error;
      throw cannotTell(version, status);
    }
  }

  async #listPage(
    parameters: URLSearchParams,
    signal: AbortSignal,
    { query = this.#query, onBytes = () => {} }: PageOptions = {},
  ): Promise<RawList> {
    const { maxListBytes, maxObjects } = this.#bounds;
    const deadline = new RequestTimeouts(signal);
    deadline.set('whole', LIST_MS, 'did not end a list');
    try {
      const { body, headers } = await this.#request(parameters, deadline.signal, query);
      deadline.set('silence', LIST_SILENCE_MS, 'said nothing in a list');
      const alive = async function* (): AsyncGenerator<Buffer, void, undefined> {
        for await (const chunk of body) {
          deadline.set('silence', LIST_SILENCE_MS, 'said nothing in a list');
          yield chunk;
        }
      };
      const buffers = await readPieces(alive(), { maxBytes: maxListBytes, headers, onBytes });
      return this.#codec.decodeList(buffers, maxObjects);
    } catch (error) {
      throw named(deadline.explain(error), 'maxListBytes');
    } finally {
      deadline.end();
    }
  }

  async #request(
    parameters: URLSearchParams,
    signal: AbortSignal,
    query = this.#query,
  ): Promise<UpstreamResponse> {
    const isWatch = parameters.has('watch');
    const path = queryPath(query, parameters);
    const headers: Record<string, string> = { accept: this.#accept(isWatch) };
    if (!isWatch) headers['accept-encoding'] = 'gzip';
    const response = await this.#upstream.request({ method: 'GET', path, headers, signal });
    if (response.statusCode !== 200) throw await this.#refusal(path, response);
    this.#assertEncoding(path, response);
    return response;
  }

  #accept(isWatch: boolean): string {
    const type = MEDIA_TYPES[this.#codec.encoding];
    if (!this.#metadataOnly) return type;
    return `${type};as=PartialObjectMetadata${isWatch ? '' : 'List'};g=meta.k8s.io;v=v1`;
  }

  async #refusal(path: string, response: UpstreamResponse): Promise<WrapperError> {
    const body = await readBody(response.body, MAX_STATUS_BYTES, response.headers);
    // Where it is asked for metadata only, an API server writes its errors in JSON (WriteObjectNegotiated).
    const isJson = String(response.headers['content-type']).startsWith(MEDIA_TYPES.json);
    const said = isJson ? decodeJsonStatus(body) : this.#codec.decodeStatus(body);
    const header = Number(response.headers['retry-after']);
    const retryAfterSeconds = header > 0 ? header : said?.retryAfterSeconds;
    const status = {
      code: response.statusCode,
      reason: said?.reason ?? '',
      message: said?.message ?? `HTTP ${response.statusCode}`,
      ...(said?.causes === undefined ? {} : { causes: said.causes }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    };
    const message = `the API server refused GET ${path}: ${status.code} ${status.message}`;
    return new WrapperError('Refused', message, { status });
  }

  #assertEncoding(path: string, response: UpstreamResponse): void {
    const type = String(response.headers['content-type'] ?? '');
    if (type.split(';')[0]?.trim() === MEDIA_TYPES[this.#codec.encoding]) return;
    const encoding = this.#codec.encoding;
    throw new WrapperError('Malformed', `GET ${path} was answered as "${type}", not ${encoding}`);
  }
}

const MEDIA_TYPES = {
  json: 'application/json',
  protobuf: 'application/vnd.kubernetes.protobuf',
} as const;

/**
 * Asks for one object at most. A question that names one is asked as it is: with a second name an API server would
 * take the first in the alphabet for the one that is asked for (RequestInfo.Name), and so would the rights to it
 * and whatever caches the answer on the way.
 */
function aboutVersion(query: Query): Query {
  const { fieldSelector } = query;
  if (/(^|,)metadata\.name==?[^=]/.test(fieldSelector)) return query;
  const own = fieldSelector === '' ? '' : `${fieldSelector},`;
  return { ...query, fieldSelector: `${own}metadata.name=${NOBODY}` };
}

/** Whether a refusal is one of the moment: asked again, the API server may answer. */
function mayPass(code: number): boolean {
  return code === 401 || !isUsableResponse(code);
}

/** Whether a watch can go on is not told, and will not be: as if the version had expired, only a list helps. */
function cannotTell(version: string, { code, message }: Status): WrapperError {
  const problem = `the API server does not tell whether it has reached ${version}: ${code} ${message}`;
  return new WrapperError('Refused', problem, {
    status: { code: 410, reason: 'Expired', message: problem },
  });
}

/** An error of a bound, with the setting it comes from. */
function named(error: unknown, setting: keyof ReadLimits): unknown {
  if (!(error instanceof WrapperError) || error.code !== 'TooLarge') return error;
  if (/max[A-Z]/.test(error.message)) return error;
  return new WrapperError('TooLarge', `${error.message} (${setting})`, { cause: error });
}
