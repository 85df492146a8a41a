import { setTimeout as sleep } from 'node:timers/promises';
import { type ExchangeOptions, type ReceivedResponse, sendRequest } from './exchange.ts';
import { type ReceivedObject, toWritten } from './written-object.ts';
import type { WrittenObject, WrittenRecord } from './written-record.ts';

/** One client. */
export interface RecorderOptions {
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
  /** Milliseconds between two lists, or after a failure. Default 200. */
  readonly pauseMs?: number;
}

type Write = (record: WrittenRecord & { readonly answered: number }) => void;

type WatchEvent =
  | {
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
      readonly object: ReceivedObject;
    }
  | { readonly type: 'ERROR'; readonly object: { readonly code: number } };

/** Never ends; records each failure and tries again. */
export async function follow(options: RecorderOptions, write: Write): Promise<never> {
  const client = new RecordingClient(options, write);
  for (;;) {
    try {
      await client.once();
    } catch (error) {
      client.end(String(error));
    }
    await sleep(options.pauseMs ?? 200);
  }
}

class RecordingClient {
  readonly #options: RecorderOptions;
  readonly #exchange: ExchangeOptions;
  readonly #write: Write;
  /** The version to resume from; undefined: it must list. */
  #version: string | undefined;
  #answered = 0;

  constructor(options: RecorderOptions, write: Write) {
    this.#options = options;
    this.#write = write;
    const idleMs = (options.watchSeconds ?? 30) * 1000 + 15_000;
    this.#exchange = { idleMs, slowMs: options.slowMs ?? 0 };
  }

  end(why: string): void {
    this.#record({ kind: 'end', why });
  }

  /** One list or one watch. */
  async once(): Promise<void> {
    const { mode } = this.#options;
    if (mode === 'lists') return await this.#list();
    if (this.#version !== undefined) return await this.#watch(this.#version);
    if (mode === 'stream') return await this.#stream();
    return await this.#list();
  }

  async #list(): Promise<void> {
    const response = await this.#send({ resourceVersion: '0' });
    if (response.status !== 200) return this.end(`list: ${response.status}`);
    const body = await response.text();
    const list = this.#parse<{ metadata: { resourceVersion: string }; items: ReceivedObject[] }>(
      body,
    );
    if (list === undefined) return;
    const version = list.metadata.resourceVersion;
    this.#record({ kind: 'list', version, items: list.items.map(toWritten) });
    this.#version = version;
  }

  async #watch(from: string): Promise<void> {
    const response = await this.#send({ ...this.#watchQuery(), resourceVersion: from });
    if (response.status === 410) return this.#expired(from);
    if (response.status !== 200) return this.end(`watch: ${response.status}`);
    this.#record({ kind: 'watch', from });
    await this.#take(response);
  }

  async #stream(): Promise<void> {
    const response = await this.#send({
      ...this.#watchQuery(),
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
    });
    if (response.status !== 200) return this.end(`streaming list: ${response.status}`);
    await this.#take(response, []);
  }

  /** @param initial objects of a streaming list that is not complete yet */
  async #take(response: ReceivedResponse, initial?: WrittenObject[]): Promise<void> {
    let listed = initial;
    for await (const line of response.lines()) {
      const event = this.#parse<WatchEvent>(line);
      if (event === undefined) return;
      if (event.type === 'ERROR') {
        if (event.object.code === 410) return this.#expired(this.#version ?? '');
        return this.end(`error ${event.object.code}`);
      }
      const version = event.object.metadata.resourceVersion;
      if (listed === undefined) {
        this.#event(event.type, event.object);
      } else if (event.type === 'BOOKMARK') {
        this.#record({ kind: 'list', version, items: listed });
        this.#record({ kind: 'watch', from: version });
        listed = undefined;
      } else {
        listed.push(toWritten(event.object));
        continue;
      }
      this.#version = version;
    }
    this.end('done');
    if (this.#options.mode === 'swing') this.#version = undefined;
  }

  #event(type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK', object: ReceivedObject): void {
    const version = object.metadata.resourceVersion;
    if (type === 'BOOKMARK') this.#record({ kind: 'bookmark', version });
    else this.#record({ kind: 'event', type, object: toWritten(object) });
  }

  #expired(from: string): void {
    this.#record({ kind: 'expired', from });
    this.#version = undefined;
  }

  #watchQuery(): Record<string, string> {
    const timeoutSeconds = String(this.#options.watchSeconds ?? 30);
    return { watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds };
  }

  async #send(query: Record<string, string>): Promise<ReceivedResponse> {
    const url = new URL(this.#options.url);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const response = await sendRequest(url.href, this.#exchange);
    this.#answered = response.answered;
    return response;
  }

  #parse<T>(text: string): T | undefined {
    try {
      return JSON.parse(text) as T;
    } catch {
      this.#record({ kind: 'unreadable', what: text.slice(0, 300) });
      return undefined;
    }
  }

  #record(record: WrittenRecord): void {
    this.#write({ ...record, answered: this.#answered });
  }
}
