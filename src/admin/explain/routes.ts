import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorCode, WrapperError } from '../../errors.ts';
import { readUrl } from '../../proxy/api/request-url.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import type { Steps } from '../../topology/decide/steps.ts';
import { escapeJson } from '../../untrusted-text.ts';
import { TimeSlice } from '../time-slice.ts';
import { decisionsOf } from './decisions.ts';
import { diffOf } from './diff.ts';
import { explainOne } from './explained-service.ts';
import { summarize } from './summary.ts';
import { tableOf } from './table.ts';

/** HTTP status by what went wrong; anything else is our own fault. */
const CODES: Partial<Record<ErrorCode, number>> = {
  BadRequest: 400,
  NotFound: 404,
  NotReady: 503,
  Unreachable: 503,
  Refused: 502,
};

/** Lines of one answer: by default, and at most. */
const LINES = { fallback: 500, most: 10_000 };

const VERBS = ['explain', 'diff', 'table', 'decisions'];

/** Whether {@link answerExplain} answers requests for a path. */
export function isExplainPath(path: string): boolean {
  return VERBS.includes(path.split('/')[1] ?? '');
}

/** Answers that are in work at once, each with a turn of the event loop; others wait, and more than that get 503. */
const MAX_IN_WORK = 4;
const MAX_WAITING = 32;

/**
 * Answers what explains the wrapper:
 * - `GET /explain[?namespace=&warnings=true&after=&limit=]`: all Services in short
 * - `GET /explain/<namespace>/<name>`: one Service
 * - `GET /diff/<namespace>/<name>[?kind=endpointslice|endpoints|service]`: what the wrapper changes in an object
 * - `GET /decisions[?after=&limit=]`: what was decided otherwise lately
 * - `GET /table[?after=&limit=]`: what kube-proxy should have in the kernel
 *
 * Answers are JSON, errors too: `{ "code", "error" }`. Work for a client that has gone away ends.
 */
export class ExplainRoutes {
  readonly #proxy: NodeProxy;
  #inWork = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(proxy: NodeProxy) {
    this.#proxy = proxy;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#inWork < MAX_IN_WORK) this.#inWork++;
    else if (this.#waiting.length < MAX_WAITING) await this.#wait();
    else return refuse(response);
    try {
      await this.#answer(request, response);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#inWork--;
      else next();
    }
  }

  /** Resolves when one that is in work gives its place up. */
  #wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    return promise;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    // Maybe while it waited.
    if (response.destroyed) return;
    response.once('close', () => gone.abort());
    const { path, query } = readUrl(request);
    const [, verb = '', ...names] = path.split('/');
    try {
      const turn = new TimeSlice({ signal: gone.signal });
      const body = await answer(this.#proxy, { verb, names, query }, turn);
      json(response, 200, await turn.take(jsonParts(body)));
    } catch (error) {
      if (gone.signal.aborted) return;
      const { code, message } = WrapperError.from(error, 'Malformed');
      json(response, CODES[code] ?? 500, JSON.stringify({ code, error: message }));
    }
  }
}

function refuse(response: ServerResponse): void {
  const limit = `${MAX_IN_WORK} explanations are in work and ${MAX_WAITING} wait`;
  response.setHeader('retry-after', '1');
  json(response, 503, JSON.stringify({ code: 'LimitExceeded', error: `${limit}; try again` }));
}

/** What is asked for. */
interface Request {
  readonly verb: string;
  readonly names: readonly string[];
  readonly query: URLSearchParams;
}

async function answer(
  proxy: NodeProxy,
  { verb, names, query }: Request,
  turn: TimeSlice,
): Promise<object> {
  const after = query.get('after') ?? '';
  const limit = readLimit(query.get('limit') ?? '');
  if (verb === 'decisions') return decisionsOf(proxy, readNumber(after), limit);
  if (verb === 'table') return await tableOf(proxy, after, limit, turn);
  if (names.length === 0 || names[0] === '') {
    if (verb === 'diff') throw new WrapperError('BadRequest', 'write /diff/<namespace>/<name>');
    const namespace = query.get('namespace') ?? '';
    const warnings = query.get('warnings') === 'true';
    const only = namespace === '' ? {} : { namespace };
    return await summarize(proxy, { ...only, warnings, after, limit }, turn);
  }
  const service = readService(verb, names);
  if (verb === 'explain') return await explainOne(proxy, service, turn);
  return await diffOf(proxy, service, query.get('kind') ?? 'endpointslice', turn);
}

function readService(verb: string, names: readonly string[]): string {
  try {
    const [namespace = '', name = '', ...more] = names.map(decodeURIComponent);
    if (namespace !== '' && name !== '' && more.length === 0) return `${namespace}/${name}`;
  } catch {
    // A percent sign that starts no escape sequence: refused below.
  }
  throw new WrapperError('BadRequest', `write /${verb}/<namespace>/<name>`);
}

function readNumber(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new WrapperError('BadRequest', 'after is the number of a decision');
}

/** @param text empty: as many as usual */
function readLimit(text: string): number {
  if (text === '') return LINES.fallback;
  const limit = Number(text);
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= LINES.most) return limit;
  throw new WrapperError('BadRequest', `limit is a number from 1 to ${LINES.most}`);
}

/** The JSON of an object; long lists in it are written in steps. */
function* jsonParts(body: object): Steps<string> {
  const fields: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined) continue;
    const text = Array.isArray(value) ? yield* jsonList(value) : JSON.stringify(value);
    fields.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${fields.join(',')}}`;
}

function* jsonList(list: readonly unknown[]): Steps<string> {
  const items: string[] = [];
  for (const item of list) {
    items.push(JSON.stringify(item));
    yield;
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
