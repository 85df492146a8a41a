import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** The API server's own Service and slice: they go and come with it, and no history has them. */
const OWN = 'kubernetes';

/** An object as a client receives it, as far as it is judged. */
export interface SeenObject {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly endpoints?: readonly { readonly addresses: readonly string[] }[];
}

/** What a client is told about; called in the order in which the client applies it. */
export interface ClientListener {
  /** One object is another; undefined: it is gone. */
  changed(name: string, object: SeenObject | undefined): void;
  /** All that arrived together was applied. */
  applied(): void;
  /** The protocol was broken, such as a version that is not newer than the last one. */
  broken(what: string): void;
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: SeenObject & { readonly code?: number; readonly message?: string };
}

/**
 * client-go waits 0.8 s at first and then up to 30 s. Here it is at most 1 s, so that what is measured is the
 * wrapper's time and not the client's.
 */
const BACKOFF_MS = { first: 200, most: 1_000 };
const WATCH_SECONDS = 300;

/**
 * Keeps the objects of one query as client-go's reflector does: list (or streaming list), watch from the last version,
 * list again after 410, resume after anything else. It lives as long as the suite and never starts anew.
 */
export class KeptClient {
  readonly objects = new Map<string, SeenObject>();
  /** Whether the first list has arrived. */
  hasSynced = false;
  readonly #url: string;
  readonly #streaming: boolean;
  readonly #listener: ClientListener;
  readonly #stopped = new AbortController();
  /** Undefined: it must list. */
  #version: string | undefined;
  #failures = 0;

  constructor(url: string, options: { readonly streaming: boolean }, listener: ClientListener) {
    this.#url = url;
    this.#streaming = options.streaming;
    this.#listener = listener;
  }

  /** Never rejects; ends with {@link stop}. */
  async run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const isGood = await this.#once().catch(() => false);
      this.#failures = isGood ? 0 : this.#failures + 1;
      if (isGood) continue;
      const wait = Math.min(BACKOFF_MS.most, BACKOFF_MS.first * 2 ** (this.#failures - 1));
      await sleep(wait, undefined, { signal: this.#stopped.signal }).catch(() => {});
    }
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** One list or one watch; false: it failed. */
  async #once(): Promise<boolean> {
    if (this.#version !== undefined) return await this.#watch(this.#version);
    return this.#streaming ? await this.#stream() : await this.#list();
  }

  async #list(): Promise<boolean> {
    const response = await this.#get({ resourceVersion: '0' });
    if (response.statusCode !== 200) return drain(response);
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    const { items, metadata } = JSON.parse(text) as {
      readonly items: readonly SeenObject[];
      readonly metadata: { readonly resourceVersion: string };
    };
    this.#replace(items, metadata.resourceVersion);
    return true;
  }

  async #watch(version: string): Promise<boolean> {
    const response = await this.#get({ ...this.#watchQuery(), resourceVersion: version });
    if (response.statusCode === 410) this.#version = undefined;
    if (response.statusCode !== 200) return drain(response);
    return await this.#follow(response, undefined);
  }

  async #stream(): Promise<boolean> {
    const response = await this.#get({
      ...this.#watchQuery(),
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
    });
    if (response.statusCode !== 200) return drain(response);
    return await this.#follow(response, []);
  }

  /** @param initial objects of a streaming list that is not complete yet */
  async #follow(response: IncomingMessage, initial: SeenObject[] | undefined): Promise<boolean> {
    let listed = initial;
    let rest = '';
    for await (const chunk of response.setEncoding('utf8')) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines.filter((each) => each !== '')) {
        const event = JSON.parse(line) as WatchEvent;
        if (event.type === 'ERROR') {
          if (event.object.code === 410) this.#version = undefined;
          response.destroy();
          return false;
        }
        if (listed === undefined) this.#apply(event);
        else if (event.type === 'BOOKMARK') {
          this.#replace(listed, event.object.metadata.resourceVersion);
          listed = undefined;
        } else listed.push(event.object);
      }
      if (listed === undefined) this.#listener.applied();
    }
    return true;
  }

  #apply({ type, object }: WatchEvent): void {
    const { name, resourceVersion } = object.metadata;
    if (BigInt(resourceVersion) < BigInt(this.#version ?? '0')) {
      this.#listener.broken(`${type} ${name} at ${resourceVersion} after ${this.#version}`);
    }
    this.#version = resourceVersion;
    if (type === 'BOOKMARK') return;
    if (name === OWN) return;
    const had = this.objects.has(name);
    if (had === (type === 'ADDED')) {
      this.#listener.broken(`${type} of ${name}, which ${had ? 'is there' : 'is not there'}`);
    }
    if (type === 'DELETED') this.objects.delete(name);
    else this.objects.set(name, object);
    this.#listener.changed(name, this.objects.get(name));
  }

  #replace(items: readonly SeenObject[], version: string): void {
    const listed = new Map(
      items.flatMap((item) => (item.metadata.name === OWN ? [] : [[item.metadata.name, item]])),
    );
    const names = new Set([...this.objects.keys(), ...listed.keys()]);
    this.#version = version;
    this.objects.clear();
    for (const [name, object] of listed) this.objects.set(name, object);
    this.hasSynced = true;
    for (const name of names) this.#listener.changed(name, listed.get(name));
    this.#listener.applied();
  }

  #watchQuery(): Record<string, string> {
    const timeoutSeconds = String(WATCH_SECONDS);
    return { watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds };
  }

  async #get(query: Record<string, string>): Promise<IncomingMessage> {
    const url = new URL(this.#url);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return await new Promise((resolve, reject) => {
      const headers = { accept: 'application/json' };
      const { signal } = this.#stopped;
      const outgoing = get(url, { agent: false, headers, signal }, resolve);
      // A wrapper that has said nothing to a request for so long is frozen.
      outgoing.setTimeout(0);
      outgoing.once('error', reject);
    });
  }
}

function drain(response: IncomingMessage): false {
  response.resume();
  return false;
}
