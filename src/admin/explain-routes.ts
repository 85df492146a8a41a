import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorCode, WrapperError } from '../errors.ts';
import { readUrl } from '../proxy/api/request-url.ts';
import type { NodeProxy } from '../proxy/node-proxy.ts';
import { escapeJson } from '../untrusted-text.ts';
import { decisionsOf } from './explain/decisions.ts';
import { diffOf } from './explain/diff.ts';
import { explainOne } from './explain/explained-service.ts';
import { nodeSummary } from './explain/node-summary.ts';
import { openViewToExplain } from './explain/open-view.ts';
import { type SummaryOptions, summarize } from './explain/summary.ts';
import { tableOf } from './explain/table.ts';
import { KubeProxyProbe } from './status/kube-proxy-probe.ts';
import { nodeStatus } from './status/node-status.ts';
import { TimeSlice } from './time-slice.ts';

/** HTTP status by error code. Other codes are errors of the wrapper itself. */
const CODES: Partial<Record<ErrorCode, number>> = {
  BadRequest: 400,
  NotFound: 404,
  NotReady: 503,
  Unreachable: 503,
  Refused: 502,
  // A label selector of the query.
  InvalidSettings: 400,
};

/** Lines of one response: default and maximum. */
const LIMIT = { default: 500, max: 10_000 };

const VERBS = ['explain', 'diff', 'table', 'decisions', 'summary', 'status'];

/** Whether {@link ExplainRoutes} answers requests for a path. */
export function isExplainPath(path: string): boolean {
  return VERBS.includes(path.split('/')[1] ?? '');
}

/** Requests that are handled at the same time, in time slices. Others wait, and one more gets 503. */
const MAX_ACTIVE = 4;
const MAX_WAITING = 32;

/**
 * Answers the requests that explain the wrapper:
 * - `GET /explain[?namespace=&labelSelector=&search=&show=&warnings=true&warning=&count=true&after=&limit=]`: a summary
 *   of all Services
 * - `GET /explain/<namespace>/<name>`: one Service
 * - `GET /diff/<namespace>/<name>`: what the wrapper changes in the objects of a Service
 * - `GET /status`: whether it is well on this node
 * - `GET /summary`: what kube-proxy sees, in numbers, and the Services whose policy stops their traffic
 * - `GET /decisions[?after=&limit=]`: the latest changes of decisions
 * - `GET /table[?after=&limit=]`: what kube-proxy should have in the kernel
 *
 * Responses are JSON. An error is `{ "code", "error" }`. The work ends when the client closes its connection.
 */
export class ExplainRoutes {
  readonly #proxy: NodeProxy;
  readonly #probe = new KubeProxyProbe();
  #active = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(proxy: NodeProxy) {
    this.#proxy = proxy;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#active < MAX_ACTIVE) this.#active++;
    else if (this.#waiting.length < MAX_WAITING) await this.#wait();
    else return refuse(response);
    try {
      await this.#answer(request, response);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#active--;
      else next();
    }
  }

  /** Resolves when an active request ends. */
  #wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    return promise;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    // The client may have closed the connection while the request waited.
    if (response.destroyed) return;
    response.once('close', () => gone.abort());
    const { path, query } = readUrl(request);
    const [, verb = '', ...names] = path.split('/');
    try {
      const slice = new TimeSlice({ signal: gone.signal });
      const body = await answer(this.#proxy, this.#probe, { verb, names, query }, slice);
      json(response, 200, await jsonOf(body, slice));
    } catch (error) {
      if (gone.signal.aborted) return;
      const { code, message } = WrapperError.from(error, 'Malformed');
      json(response, CODES[code] ?? 500, JSON.stringify({ code, error: message }));
    }
  }
}

function refuse(response: ServerResponse): void {
  const limit = `${MAX_ACTIVE} explanations are in progress and ${MAX_WAITING} wait`;
  response.setHeader('retry-after', '1');
  json(response, 503, JSON.stringify({ code: 'LimitExceeded', error: `${limit}; try again` }));
}

/** A parsed request. */
interface ExplainRequest {
  readonly verb: string;
  readonly names: readonly string[];
  readonly query: URLSearchParams;
}

async function answer(
  proxy: NodeProxy,
  probe: KubeProxyProbe,
  { verb, names, query }: ExplainRequest,
  slice: TimeSlice,
): Promise<object> {
  const after = query.get('after') ?? '';
  const limit = readLimit(query.get('limit') ?? '');
  await openViewToExplain(proxy, slice.signal);
  if (verb === 'decisions') return decisionsOf(proxy, readNumber(after), limit);
  if (verb === 'status') return await nodeStatus(proxy, probe, slice);
  if (verb === 'summary') return nodeSummary(proxy);
  if (verb === 'table') return await tableOf(proxy, after, limit, slice);
  if (names.length === 0 || names[0] === '') {
    if (verb === 'diff')
      throw new WrapperError('BadRequest', 'the path must be /diff/<namespace>/<name>');
    return await summarize(proxy, { ...readSelection(query), after, limit }, slice);
  }
  const service = readService(verb, names);
  if (verb === 'explain') return explainOne(proxy, service);
  return await diffOf(proxy, service, slice);
}

/** Characters of a search. Each Service is compared with each of its words. */
const MAX_SEARCH = 200;

const SHOWS = ['filtered', 'failing'] as const;

/** Which Services are summarized. An empty parameter selects all. */
function readSelection(query: URLSearchParams): Omit<SummaryOptions, 'after' | 'limit'> {
  const given = (name: string): string | undefined => query.get(name) || undefined;
  const text = query.get('show') ?? '';
  const show = SHOWS.find((each) => each === text);
  if (show === undefined && text !== '') {
    throw new WrapperError('BadRequest', `show must be one of ${SHOWS.join(', ')}`);
  }
  if ((query.get('search') ?? '').length > MAX_SEARCH) {
    throw new WrapperError('BadRequest', `search must have at most ${MAX_SEARCH} characters`);
  }
  return {
    namespace: given('namespace'),
    labelSelector: given('labelSelector'),
    search: given('search'),
    warning: given('warning'),
    show,
    warnings: query.get('warnings') === 'true',
    count: query.get('count') === 'true',
  };
}

function readService(verb: string, names: readonly string[]): string {
  try {
    const [namespace = '', name = '', ...more] = names.map(decodeURIComponent);
    if (namespace !== '' && name !== '' && more.length === 0) return `${namespace}/${name}`;
  } catch {
    // A percent sign without an escape sequence: refused below.
  }
  throw new WrapperError('BadRequest', `the path must be /${verb}/<namespace>/<name>`);
}

function readNumber(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new WrapperError('BadRequest', 'after must be the number of a decision');
}

/** @param text empty: the default */
function readLimit(text: string): number {
  if (text === '') return LIMIT.default;
  const limit = Number(text);
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= LIMIT.max) return limit;
  throw new WrapperError('BadRequest', `limit must be a number from 1 to ${LIMIT.max}`);
}

/** The JSON of an object. Long lists are serialized in slices. */
async function jsonOf(body: object, slice: TimeSlice): Promise<string> {
  const fields: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined) continue;
    const text = Array.isArray(value) ? await jsonList(value, slice) : JSON.stringify(value);
    fields.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${fields.join(',')}}`;
}

async function jsonList(list: readonly unknown[], slice: TimeSlice): Promise<string> {
  const items: string[] = [];
  for (const item of list) {
    items.push(JSON.stringify(item));
    await slice.pause();
  }
  return `[${items.join(',')}]`;
}

function json(response: ServerResponse, code: number, body: string): void {
  response.writeHead(code, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(`${escapeJson(body)}\n`);
}
