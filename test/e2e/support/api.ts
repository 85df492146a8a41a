import { Agent, request } from 'node:https';

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

/** Makes a client; it opens connections when it is used. */
export function createApiClient(options: ApiClientOptions): ApiClient {
  const agent = new Agent({ keepAlive: true, ca: options.ca });
  const call = async (method: string, path: string, body?: unknown, type = 'application/json') =>
    await send({ ...options, agent, method, path, body, type });
  const callObject = async (method: string, path: string, body?: unknown, type?: string) => {
    const answer = await call(method, path, body, type);
    if (answer.status >= 300) throw apiError(method, path, answer);
    return JSON.parse(answer.body) as KubeObject;
  };
  return {
    get: async (path) => await callObject('GET', path),
    list: async (path) => (await callObject('GET', path)).items as KubeObject[],
    create: async (collection, object) => await callObject('POST', collection, object),
    update: async (path, object) => await callObject('PUT', path, object),
    patch: async (path, patch, kind = 'merge') =>
      await callObject('PATCH', path, patch, patchType(kind)),
    delete: async (path) => {
      const answer = await call('DELETE', path, { gracePeriodSeconds: 0 });
      if (answer.status >= 300 && answer.status !== 404) throw apiError('DELETE', path, answer);
    },
    status: async (path) => {
      try {
        return (await call('GET', path)).status;
      } catch {
        return undefined;
      }
    },
    close: () => agent.destroy(),
  };
}

function patchType(kind: PatchKind): string {
  return kind === 'strategic'
    ? 'application/strategic-merge-patch+json'
    : kind === 'json'
      ? 'application/json-patch+json'
      : 'application/merge-patch+json';
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

function apiError(method: string, path: string, answer: Answer): ApiError {
  return new ApiError(
    `${method} ${path}: ${answer.status} ${answer.body.slice(0, 500)}`,
    answer.status,
  );
}

interface Call extends ApiClientOptions {
  readonly agent: Agent;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly type: string;
}

async function send(call: Call): Promise<Answer> {
  const body = call.body === undefined ? undefined : JSON.stringify(call.body);
  return await new Promise((done, fail) => {
    const headers = {
      authorization: `Bearer ${call.token}`,
      accept: 'application/json',
      ...(body === undefined
        ? {}
        : { 'content-type': call.type, 'content-length': Buffer.byteLength(body) }),
    };
    const url = new URL(call.path, call.server);
    const outgoing = request(
      url,
      { method: call.method, agent: call.agent, headers, timeout: 30_000 },
      (incoming) => {
        let text = '';
        incoming.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        incoming.once('error', fail);
        incoming.once('end', () => done({ status: incoming.statusCode ?? 0, body: text }));
      },
    );
    outgoing.once('timeout', () => outgoing.destroy(new Error('no answer in 30 s')));
    outgoing.once('error', fail);
    outgoing.end(body);
  });
}
