/*
 * A client that watches EndpointSlices as kube-proxy does:
 *
 *   listing ──the list is complete──▶ watching
 *      ▲  │                              │
 *      │  └──503 or 429, any failure──▶ waiting (Retry-After, else a second) ──▶ listing
 *      └────────────the stream ends──────┘
 *
 * Until the first list is complete, only 503 and 429 are tried again, for at most two minutes: the wrapper answers them
 * while it reads a large cluster.
 */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { WrapperError } from '../src/errors.ts';
import type { RawEvent } from '../src/filter/codec/codec.ts';
import { createProtobufCodec } from '../src/filter/codec/protobuf/codec.ts';
import { ENDPOINT_SLICES } from '../src/filter/codec/resource.ts';

/** A client of the wrapper that watches EndpointSlices. */
export interface WatchClient {
  /** Addresses in the view by `namespace/name` of the slice. */
  readonly shown: ReadonlyMap<string, ReadonlySet<string>>;
  /** Calls `listener` after each batch of events. */
  subscribe(listener: () => void): void;
  close(): Promise<void>;
}

export interface WatchClientOptions {
  /** Waits, in milliseconds. Rejects when the signal is aborted. Default: in real time. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** The query of the newest kube-proxy, without an end: so the demo and the page share one view. */
const PATH = '/apis/discovery.k8s.io/v1/endpointslices';
const QUERY =
  'watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan' +
  '&labelSelector=%21service.kubernetes.io%2Fheadless';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const codec = createProtobufCodec();

/** Limits of the time until the first list is complete, and of one Retry-After, in milliseconds. */
const FIRST_LIST_MS = 120_000;
const MAX_WAIT_MS = 10_000;
const WAIT_MS = 1_000;
/** Maximum size of one event. */
const MAX_EVENT_BYTES = 4 << 20;

/** Resolves when the first list is complete. */
export async function watchSlices(
  url: string,
  { wait = waitFor }: WatchClientOptions = {},
): Promise<WatchClient> {
  const watch = new SliceWatch(`${url}${PATH}?${QUERY}`, wait);
  const running = watch.run();
  const close = async (): Promise<void> => {
    watch.stop();
    await running;
  };
  try {
    await watch.listed;
  } catch (error) {
    await close();
    throw error;
  }
  return {
    get shown() {
      return watch.shown;
    },
    subscribe: (listener) => watch.listeners.add(listener),
    close,
  };
}

async function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal });
}

/** The server is not ready, and says when to try again. */
class NotReadyYet extends Error {
  readonly waitMs: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.waitMs = waitMs;
  }
}

class SliceWatch {
  shown = new Map<string, ReadonlySet<string>>();
  readonly listeners = new Set<() => void>();
  readonly listed: Promise<void>;
  readonly #url: string;
  readonly #wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly #stop = new AbortController();
  readonly #first = Promise.withResolvers<void>();
  #isListed = false;

  constructor(url: string, wait: (ms: number, signal: AbortSignal) => Promise<void>) {
    this.#url = url;
    this.#wait = wait;
    this.listed = this.#first.promise;
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Lists and watches until stop(). Ends earlier if the first list is not possible. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    let waitedMs = 0;
    while (!signal.aborted) {
      const failure = await this.#watch().then(() => undefined, wrapped);
      const isPatient = failure instanceof NotReadyYet && waitedMs < FIRST_LIST_MS;
      if (!this.#isListed && !signal.aborted && !isPatient) return this.#first.reject(failure);
      const waitMs = failure instanceof NotReadyYet ? failure.waitMs : WAIT_MS;
      waitedMs += waitMs;
      await this.#wait(waitMs, signal).catch(() => {});
    }
    this.#first.reject(new Error('closed'));
  }

  /** One list and the watch after it. Returns when the stream ends. */
  async #watch(): Promise<void> {
    const { signal } = this.#stop;
    const request = get(this.#url, { signal, headers: { accept: PROTOBUF } });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    if (response.statusCode !== 200) throw await refusalOf(response);
    const decoder = codec.watchDecoder(MAX_EVENT_BYTES);
    // The view of the last watch counts until this list is complete.
    let listing: Map<string, ReadonlySet<string>> | undefined = new Map();
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const { events, fault } = decoder.push(chunk);
      for (const event of events) {
        if (event.type !== 'BOOKMARK') apply(listing ?? this.shown, event);
        else if (listing !== undefined) {
          this.shown = listing;
          listing = undefined;
          this.#isListed = true;
          this.#first.resolve();
        }
      }
      const isChange = listing === undefined && events.some(({ type }) => type !== 'BOOKMARK');
      if (isChange) for (const listener of this.listeners) listener();
      if (fault !== undefined) throw fault;
    }
    if (listing !== undefined) throw new Error('the list of EndpointSlices ended too early');
  }
}

/** A stream that ends without a list is a failure, so an error is never undefined. */
function wrapped(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

async function refusalOf(response: IncomingMessage): Promise<Error> {
  const { statusCode, headers } = response;
  const bytes = await buffer(response);
  const said = codec.decodeStatus(bytes)?.message ?? bytes.toString();
  const message = `the wrapper answers the watch with ${statusCode}: ${said}`;
  const seconds = Number(headers['retry-after']);
  if ((statusCode !== 503 && statusCode !== 429) || !(seconds > 0)) {
    return new WrapperError('Refused', message);
  }
  return new NotReadyYet(message, Math.min(seconds * 1000, MAX_WAIT_MS));
}

function apply(shown: Map<string, ReadonlySet<string>>, event: RawEvent): void {
  if (event.type === 'ERROR') throw new Error(`the watch ended: ${event.status.message}`);
  const { namespace, name } = codec.meta(event.object);
  const key = `${namespace}/${name}`;
  if (event.type === 'DELETED') {
    shown.delete(key);
    return;
  }
  const groups = codec.addresses(ENDPOINT_SLICES, event.object);
  shown.set(key, new Set(groups.flatMap(({ endpoints }) => endpoints.flat())));
}
