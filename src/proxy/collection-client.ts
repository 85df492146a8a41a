import { WrapperError } from '../errors.ts';
import type { Codec, ObjectBytes, RawEvent } from '../filter/codec.ts';
import { type Question, questionPath } from './question.ts';
import { readBody, type Upstream, type UpstreamResponse } from './upstream.ts';

/** A list, all its pages together. */
export interface Listed {
  readonly resourceVersion: string;
  readonly items: readonly ObjectBytes[];
}

/** A LIST of more bytes than this is refused: 50,000 Services of 100 endpoints are 600 MB of JSON. */
const MAX_LIST_BYTES = 1024 * 1024 * 1024;
/** An object in etcd has at most 1.5 MiB by default; a frame can be several times that in JSON. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;
const MAX_STATUS_BYTES = 1024 * 1024;
/**
 * A list or watch that says nothing for this long is dead, in milliseconds. The API server sends a bookmark
 * about once a minute (bookmarkFrequency in apiserver storage/cacher).
 */
const SILENCE_MS = 90_000;

/** Asks the API server one question, in one encoding. */
export class CollectionClient {
  readonly #upstream: Upstream;
  readonly #codec: Codec;
  readonly #question: Question;
  readonly #metadataOnly: boolean;
  readonly #random: () => number;

  constructor(options: {
    readonly upstream: Upstream;
    readonly codec: Codec;
    readonly question: Question;
    readonly metadataOnly: boolean;
    readonly random?: () => number;
  }) {
    this.#upstream = options.upstream;
    this.#codec = options.codec;
    this.#question = options.question;
    this.#metadataOnly = options.metadataOnly;
    this.#random = options.random ?? Math.random;
  }

  /**
   * Lists the collection at this version or newer (`0`: any; empty: the newest).
   * Throws `Refused` with the Status, `Unreachable`, `Malformed` or `TooLarge`.
   */
  async list(version: string, signal: AbortSignal): Promise<Listed> {
    const items: ObjectBytes[] = [];
    let token = '';
    for (;;) {
      const query = new URLSearchParams();
      if (token !== '') query.set('continue', token);
      else if (version !== '') query.set('resourceVersion', version);
      const body = await this.#ask(query, signal, async (response, alive) => {
        return readBody(alive(response.body), MAX_LIST_BYTES, response.headers);
      });
      const page = this.#codec.decodeList(body);
      items.push(...page.items);
      token = page.continue;
      if (token === '') return { resourceVersion: page.resourceVersion, items };
    }
  }

  /**
   * Watches from a version on, until the API server ends the stream. `opened` is called once it has agreed.
   * Throws as {@link list} does.
   */
  async *watch(
    version: string,
    signal: AbortSignal,
    opened: () => void,
  ): AsyncGenerator<RawEvent[], void, undefined> {
    // As client-go: spread over 5 to 10 minutes, so that watches do not all end together.
    const timeout = Math.floor(300 + 300 * this.#random());
    const query = new URLSearchParams({
      allowWatchBookmarks: 'true',
      resourceVersion: version,
      timeoutSeconds: String(timeout),
      watch: 'true',
    });
    const silence = new Silence(signal);
    try {
      const response = await this.#request(query, silence.signal);
      opened();
      yield* this.#codec.decodeWatch(silence.guard(response.body), MAX_FRAME_BYTES);
    } catch (error) {
      throw silence.explain(error);
    } finally {
      silence.end();
    }
  }

  async #ask<T>(
    query: URLSearchParams,
    signal: AbortSignal,
    read: (
      response: UpstreamResponse,
      alive: (body: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>,
    ) => Promise<T>,
  ): Promise<T> {
    const silence = new Silence(signal);
    try {
      const response = await this.#request(query, silence.signal);
      return await read(response, (body) => silence.guard(body));
    } catch (error) {
      throw silence.explain(error);
    } finally {
      silence.end();
    }
  }

  async #request(query: URLSearchParams, signal: AbortSignal): Promise<UpstreamResponse> {
    const isWatch = query.has('watch');
    const path = questionPath(this.#question, query);
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
    const said = this.#codec.decodeStatus(body);
    const retryAfter = Number(response.headers['retry-after']);
    const status = {
      code: response.statusCode,
      reason: said?.reason ?? '',
      message: said?.message ?? `HTTP ${response.statusCode}`,
      ...(said?.causes === undefined ? {} : { causes: said.causes }),
      retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : (said?.retryAfterSeconds ?? 0),
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

/** Aborts a request that says nothing for too long: a peer that is gone sends no FIN. */
class Silence {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal;
  readonly #forward = () => this.#controller.abort(this.#outer.reason);

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    this.#timer = setTimeout(() => {
      this.#controller.abort(
        new WrapperError('Unreachable', `the API server said nothing for ${SILENCE_MS / 1000} s`),
      );
    }, SILENCE_MS);
    if (outer.aborted) this.#forward();
    else outer.addEventListener('abort', this.#forward, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Passes a body on and takes each chunk for a sign of life. */
  async *guard(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of body) {
      this.#timer.refresh();
      yield chunk;
    }
  }

  /** The reason for an error: that of the abort, if there was one. */
  explain(error: unknown): unknown {
    return this.signal.aborted && !this.#outer.aborted ? this.signal.reason : error;
  }

  /** Ends the watch over the request, and the request itself if it still runs. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.#forward);
    this.#controller.abort();
  }
}
