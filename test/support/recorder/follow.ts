import { setTimeout as sleep } from 'node:timers/promises';
import { type ExchangeOptions, type ReceivedResponse, sendRequest } from './exchange.ts';
import type { ReceivedRecord } from './written-record.ts';

/** One client. */
export interface FollowOptions {
  /** URL of the collection, with its selectors. */
  readonly url: string;
  /**
   * `list`: LIST, then WATCH from its version. `stream`: streaming list. `lists`: LIST again and again. `swing`:
   * LIST and WATCH in turn, so that many watches end with a last bookmark.
   */
  readonly mode: 'list' | 'stream' | 'lists' | 'swing';
  /** timeoutSeconds of a watch. Default 30. */
  readonly watchSeconds?: number;
  /** Milliseconds to pause after each chunk. Default 0. */
  readonly slowMs?: number;
  /** Milliseconds between two requests. Default 200. */
  readonly pauseMs?: number;
}

/** The fields of a JSON object that a client needs. */
export interface ReceivedObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}

/** Gets what a client receives. */
export interface Follower<T extends ReceivedObject> {
  /** @param process the one that gave the answer */
  receive(record: ReceivedRecord<T>, process: string): void;
  /** All that arrived together was received. */
  applied?(): void;
}

type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: T }
  | { readonly type: 'ERROR'; readonly object: { readonly code: number } };

/**
 * Lists and watches as client-go's reflector does, until it is aborted: watches from the last version, lists again
 * after 410, resumes after anything else. Reports each failure and tries again. Never rejects.
 */
export async function follow<T extends ReceivedObject>(
  options: FollowOptions,
  follower: Follower<T>,
  signal: AbortSignal,
  send: typeof sendRequest = sendRequest,
): Promise<void> {
  const client = new FollowingClient(options, follower, signal, send);
  while (!signal.aborted) {
    await client.once();
    await sleep(options.pauseMs ?? 200, undefined, { signal }).catch(() => {});
  }
}

/** An ERROR event of a watch that is refused comes along with the headers. */
const QUIET_MS = 5_000;

class FollowingClient<T extends ReceivedObject> {
  readonly #options: FollowOptions;
  readonly #follower: Follower<T>;
  readonly #exchange: ExchangeOptions;
  readonly #send: typeof sendRequest;
  /** The version to resume from; undefined: it must list. */
  #version: string | undefined;
  /** The one that gave the last answer. */
  #process = '';

  constructor(
    options: FollowOptions,
    follower: Follower<T>,
    signal: AbortSignal,
    send: typeof sendRequest,
  ) {
    this.#options = options;
    this.#follower = follower;
    this.#send = send;
    const idleMs = (options.watchSeconds ?? 30) * 1000 + 15_000;
    this.#exchange = { idleMs, slowMs: options.slowMs ?? 0, signal };
  }

  /** One list or one watch. */
  async once(): Promise<void> {
    const { mode } = this.#options;
    try {
      if (mode !== 'lists' && this.#version !== undefined) await this.#watch(this.#version);
      else if (mode === 'stream') await this.#stream();
      else await this.#list();
    } catch (error) {
      this.#end(String(error));
    }
  }

  async #list(): Promise<void> {
    const response = await this.#get({ resourceVersion: '0' });
    const body = await response.text();
    if (response.status !== 200) return this.#end(`list: ${response.status}`);
    const list = this.#parse<{ metadata: { resourceVersion: string }; items: T[] }>(body);
    if (list !== undefined) this.#listed(list.items, list.metadata.resourceVersion);
  }

  async #watch(from: string): Promise<void> {
    const response = await this.#get({ ...this.#watchQuery(), resourceVersion: from });
    if (response.status === 200) return await this.#take(response, { from });
    await response.text();
    if (response.status === 410) this.#expired(from);
    else this.#end(`watch: ${response.status}`);
  }

  async #stream(): Promise<void> {
    const response = await this.#get({
      ...this.#watchQuery(),
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
    });
    if (response.status === 200) return await this.#take(response, { listed: [] });
    await response.text();
    this.#end(`streaming list: ${response.status}`);
  }

  /**
   * @param from version of a watch, which counts as accepted once it brings anything but an ERROR, or is quiet
   * @param listed objects of a streaming list that is not complete yet
   */
  async #take(
    response: ReceivedResponse,
    { from, listed }: { from?: string | undefined; listed?: T[] | undefined },
  ): Promise<void> {
    const accepted = (): void => {
      if (from !== undefined) this.#receive({ kind: 'watch', from });
      from = undefined;
    };
    const quiet = setTimeout(accepted, QUIET_MS);
    for await (const lines of batchesUntil(response, () => clearTimeout(quiet))) {
      clearTimeout(quiet);
      for (const line of lines) {
        const event = this.#parse<WatchEvent<T>>(line);
        if (event === undefined) return;
        if (event.type === 'ERROR') {
          if (event.object.code === 410) return this.#expired(this.#version ?? '');
          return this.#end(`error ${event.object.code}`);
        }
        accepted();
        const version = event.object.metadata.resourceVersion;
        if (listed === undefined) this.#event(event.type, event.object);
        else if (event.type === 'BOOKMARK') {
          this.#listed(listed, version);
          this.#receive({ kind: 'watch', from: version });
          listed = undefined;
        } else listed.push(event.object);
      }
      if (listed === undefined) this.#follower.applied?.();
    }
    accepted();
    this.#end('done');
    if (this.#options.mode === 'swing') this.#version = undefined;
  }

  #listed(items: readonly T[], version: string): void {
    this.#receive({ kind: 'list', version, items });
    this.#follower.applied?.();
    this.#version = version;
  }

  #event(type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK', object: T): void {
    const version = object.metadata.resourceVersion;
    if (type === 'BOOKMARK') this.#receive({ kind: 'bookmark', version });
    else this.#receive({ kind: 'event', type, object });
    this.#version = version;
  }

  #expired(from: string): void {
    this.#receive({ kind: 'expired', from });
    this.#version = undefined;
  }

  #end(why: string): void {
    this.#receive({ kind: 'end', why });
  }

  #watchQuery(): Record<string, string> {
    const timeoutSeconds = String(this.#options.watchSeconds ?? 30);
    return { watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds };
  }

  async #get(query: Record<string, string>): Promise<ReceivedResponse> {
    const url = new URL(this.#options.url);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const response = await this.#send(url.href, this.#exchange);
    this.#process = response.process;
    return response;
  }

  #parse<Parsed>(text: string): Parsed | undefined {
    try {
      return JSON.parse(text) as Parsed;
    } catch {
      this.#receive({ kind: 'unreadable', what: text.slice(0, 300) });
      return undefined;
    }
  }

  #receive(record: ReceivedRecord<T>): void {
    this.#follower.receive(record, this.#process);
  }
}

/** The batches of a response. Calls `ended` when they end, also if the connection breaks. */
async function* batchesUntil(
  response: ReceivedResponse,
  ended: () => void,
): AsyncGenerator<readonly string[], void, undefined> {
  try {
    yield* response.batches();
  } finally {
    ended();
  }
}
