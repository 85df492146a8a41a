import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { CachedObject } from './cached-object.ts';
import type { CachedList } from './edge-store.ts';

export interface UpstreamApiOptions {
  /** Such as `https://127.0.0.1:6443`. */
  readonly upstream: string;
  /** PEM certificates that the API server is checked against. */
  readonly ca?: string | Buffer;
  readonly token?: string;
}

/** Reads from the API server in JSON. */
export class UpstreamApi {
  readonly #options: UpstreamApiOptions;
  readonly #agent: Agent;

  constructor(options: UpstreamApiOptions) {
    this.#options = options;
    const { ca } = options;
    this.#agent = new Agent({ bodyTimeout: 0, ...(ca === undefined ? {} : { connect: { ca } }) });
  }

  /** Undefined: the API server did not list. */
  async list(path: string): Promise<(CachedList & { readonly kind: string }) | undefined> {
    try {
      const { statusCode, body } = await this.#get(path, AbortSignal.timeout(10_000));
      const list = (await body.json()) as ListBody;
      if (statusCode !== 200) return undefined;
      const kind = list.kind.replace(/List$/, '');
      const type = { apiVersion: list.apiVersion, kind };
      const items = (list.items ?? []).map((item) => ({ ...item, ...type }) as CachedObject);
      return { kind, resourceVersion: list.metadata.resourceVersion, items };
    } catch {
      // It is away, which a list of a cache does not tell.
      return undefined;
    }
  }

  /** Lists and watches until the signal aborts. Every object that exists comes as ADDED each time that it lists. */
  async follow(
    path: string,
    signal: AbortSignal,
    use: (type: string, object: CachedObject) => void,
  ): Promise<void> {
    while (!signal.aborted) {
      const listed = await this.list(path);
      for (const object of signal.aborted ? [] : (listed?.items ?? [])) use('ADDED', object);
      const version = listed?.resourceVersion;
      // A watch that breaks is followed by a list.
      if (version !== undefined) await this.#watch(path, version, signal, use).catch(() => {});
      await delay(100);
    }
  }

  async #watch(
    path: string,
    version: string,
    signal: AbortSignal,
    use: (type: string, object: CachedObject) => void,
  ): Promise<void> {
    const { body } = await this.#get(`${path}&watch=true&resourceVersion=${version}`, signal);
    let rest = '';
    for await (const chunk of body) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const { type, object } = JSON.parse(line) as { type: string; object: CachedObject };
        if (type === 'ERROR') return;
        use(type, object);
      }
    }
  }

  #get(path: string, signal: AbortSignal) {
    const { upstream, token } = this.#options;
    const headers = {
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    return request(upstream + path, { dispatcher: this.#agent, headers, signal });
  }
}

interface ListBody {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: { readonly resourceVersion: string };
  readonly items?: readonly object[];
}
