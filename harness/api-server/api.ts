import { Agent } from 'undici';

/** Any Kubernetes object, as JSON. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: tests pick fields of any kind of object
  readonly [field: string]: any;
}

/** An answer that is not 2xx. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status. */
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** How a patch is applied. */
export type PatchKind = 'merge' | 'strategic' | 'json';

/** A JSON client of the API server. Paths are those of the API, such as `/api/v1/nodes/a`. */
export interface ApiClient {
  get(path: string): Promise<KubeObject>;
  list(path: string): Promise<KubeObject[]>;
  create(collection: string, object: KubeObject): Promise<KubeObject>;
  /** Replaces the object. */
  update(path: string, object: KubeObject): Promise<KubeObject>;
  /** Default kind: merge. */
  patch(path: string, patch: unknown, kind?: PatchKind): Promise<KubeObject>;
  /** A Pod is removed at once. An absent object is fine. */
  delete(path: string): Promise<void>;
  /** HTTP status of a GET, or undefined if the server can't be reached. */
  status(path: string): Promise<number | undefined>;
  /** Closes the connections. */
  close(): void;
}

/** What {@link createApiClient} connects with. */
export interface ApiClientOptions {
  /** Such as `https://127.0.0.1:6443`. */
  readonly server: string;
  /** PEM certificates that the server is checked against. */
  readonly ca: string | Buffer;
  readonly token: string;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

const PATCH_TYPES: Readonly<Record<PatchKind, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
};

/** Makes a client; it opens connections when it is used. */
export function createApiClient({ server, ca, token }: ApiClientOptions): ApiClient {
  const agent = new Agent({ connect: { ca } });
  const call = async (method: Method, path: string, body?: unknown, type = 'application/json') => {
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      'content-type': type,
    };
    const signal = AbortSignal.timeout(30_000);
    const payload = body === undefined ? null : JSON.stringify(body);
    const request = { origin: server, method, path, headers, signal, body: payload };
    const { statusCode: status, body: answer } = await agent.request(request);
    return { status, text: await answer.text() };
  };
  const callObject = async (method: Method, path: string, body?: unknown, type?: string) => {
    const { status, text } = await call(method, path, body, type);
    if (status >= 300) {
      throw new ApiError(`${method} ${path}: ${status} ${text.slice(0, 500)}`, status);
    }
    return JSON.parse(text) as KubeObject;
  };
  return {
    get: async (path) => await callObject('GET', path),
    list: async (path) => (await callObject('GET', path)).items as KubeObject[],
    create: async (collection, object) => await callObject('POST', collection, object),
    update: async (path, object) => await callObject('PUT', path, object),
    patch: async (path, patch, kind = 'merge') =>
      await callObject('PATCH', path, patch, PATCH_TYPES[kind]),
    delete: async (path) => {
      await callObject('DELETE', path, { gracePeriodSeconds: 0 }).catch((error: unknown) => {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
      });
    },
    status: async (path) => {
      try {
        return (await call('GET', path)).status;
      } catch {
        return undefined;
      }
    },
    close: () => void agent.destroy(),
  };
}
