import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorCode, WrapperError } from '../../errors.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import { readUrl } from '../../proxy/request-url.ts';
import { decisionsOf } from './decisions.ts';
import { diffOf } from './diff.ts';
import { explainOne } from './explain.ts';
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

/**
 * Answers what explains the wrapper:
 * - `GET /explain[?namespace=&warnings=true&after=&limit=]`: all Services in short
 * - `GET /explain/<namespace>/<name>`: one Service
 * - `GET /diff/<namespace>/<name>[?kind=endpointslice|endpoints|service]`: what the wrapper changes in an object
 * - `GET /decisions[?after=&limit=]`: what was decided otherwise lately
 * - `GET /table[?after=&limit=]`: what kube-proxy should have in the kernel
 *
 * Answers are JSON, errors too: `{ "code", "error" }`.
 */
export async function answerExplain(
  request: IncomingMessage,
  response: ServerResponse,
  proxy: NodeProxy,
): Promise<void> {
  const { path, query } = readUrl(request);
  const [, verb = '', ...names] = path.split('/');
  try {
    json(response, 200, await answer(proxy, verb, names, query));
  } catch (error) {
    const { code, message } = WrapperError.from(error, 'Malformed');
    json(response, CODES[code] ?? 500, { code, error: message });
  }
}

async function answer(
  proxy: NodeProxy,
  verb: string,
  names: readonly string[],
  query: URLSearchParams,
): Promise<unknown> {
  const after = query.get('after') ?? '';
  const limit = readLimit(query.get('limit') ?? '');
  if (verb === 'decisions') return decisionsOf(proxy, readNumber(after), limit);
  if (verb === 'table') return await tableOf(proxy, after, limit);
  if (names.length === 0 || names[0] === '') {
    if (verb === 'diff') throw new WrapperError('BadRequest', 'write /diff/<namespace>/<name>');
    const namespace = query.get('namespace') ?? '';
    const warnings = query.get('warnings') === 'true';
    const only = namespace === '' ? {} : { namespace };
    return await summarize(proxy, { ...only, warnings, after, limit });
  }
  const service = readService(verb, names);
  if (verb === 'explain') return explainOne(proxy, service);
  return await diffOf(proxy, service, query.get('kind') ?? 'endpointslice');
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

function json(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(`${JSON.stringify(body)}\n`);
}
