import type { IncomingMessage } from 'node:http';
import { readUrl } from '../client/api/request-url.ts';
import { statusOf } from '../client/api/status.ts';
import type { NodeReader } from '../diagnosis/reading/node-reading.ts';
import { WrapperError } from '../errors.ts';
import { Semaphore } from '../util/semaphore.ts';
import { type Answer, jsonAnswer, type Route } from './answer.ts';
import { decisionsOf } from './explain/decisions.ts';
import { diffOf } from './explain/diff.ts';
import { explainOne } from './explain/explained-service.ts';
import { nodeSummary } from './explain/node-summary.ts';
import { openViewToExplain } from './explain/open-view.ts';
import { type ServiceSelection, summarizeServices } from './explain/service-summaries.ts';
import { TimeSlice } from './explain/time-slice.ts';
import type { KernelRules } from './status/kernel-rules.ts';
import { nodeStatus } from './status/node-status.ts';

/** Lines of one response: default and maximum. */
const RESPONSE_LINES = { default: 500, max: 10_000 };

/** Requests that are handled at the same time, in time slices. Others wait: the listener limits how many. */
const MAX_ACTIVE = 4;

/** A request for an explanation. */
interface ExplainRequest {
  readonly reader: NodeReader;
  /** The parts of the path after the first one. */
  readonly names: readonly string[];
  readonly query: URLSearchParams;
  readonly rules: KernelRules;
  readonly slice: TimeSlice;
}

type Explainer = (request: ExplainRequest) => object | Promise<object>;

/** Answers by the first part of the path. */
const EXPLAINERS: Readonly<Record<string, Explainer>> = {
  '/explain': ({ reader, names, query, slice }) =>
    names.join('') === ''
      ? summarizeServices(reader, readSelection(query), slice)
      : explainOne(reader.proxy, readService(names)),
  '/diff': ({ reader, names, slice }) => diffOf(reader.proxy, readService(names), slice),
  '/status': ({ reader, rules, slice }) => nodeStatus(reader, rules, slice),
  '/summary': ({ reader }) => nodeSummary(reader),
  '/decisions': ({ reader, query }) =>
    decisionsOf(reader.proxy, readNumber(query), readLimit(query)),
};

/** The paths that may continue with `/<namespace>/<name>`. */
export const NAMED_PATHS: readonly string[] = ['/explain', '/diff'];

/**
 * Answers the requests that explain the wrapper:
 * - `GET /explain[?namespace=&labelSelector=&search=&show=&warnings=true&warning=&count=true&after=&limit=]`: a summary
 *   of all Services
 * - `GET /explain/<namespace>/<name>`: one Service
 * - `GET /diff/<namespace>/<name>`: what the wrapper changes in the objects of a Service
 * - `GET /status`: whether it is well on this node
 * - `GET /summary`: what kube-proxy sees, in numbers, and the Services whose policy stops their traffic
 * - `GET /decisions[?after=&limit=]`: the latest changes of decisions
 *
 * Responses are JSON. An error is `{ "code", "error" }`. The work ends when the client closes its connection.
 */
export function explainRoutes(reader: NodeReader, rules: KernelRules): [string, Route][] {
  const semaphore = new Semaphore(MAX_ACTIVE);
  return Object.entries(EXPLAINERS).map(([path, explain]) => [
    path,
    async (request, response) => {
      const release = await semaphore.acquire();
      try {
        // The client may have closed the connection while the request waited.
        if (response.destroyed) return undefined;
        const gone = new AbortController();
        response.once('close', () => gone.abort());
        return await explained(reader, rules, explain, request, gone.signal);
      } finally {
        release();
      }
    },
  ]);
}

async function explained(
  reader: NodeReader,
  rules: KernelRules,
  explain: Explainer,
  request: IncomingMessage,
  gone: AbortSignal,
): Promise<Answer | undefined> {
  const { path, query } = readUrl(request);
  const [, , ...names] = path.split('/');
  try {
    const slice = new TimeSlice(gone);
    await openViewToExplain(reader.proxy, gone);
    const body = await explain({ reader, names, query, rules, slice });
    return jsonAnswer(await jsonOf(body, slice));
  } catch (error) {
    if (gone.aborted) return undefined;
    const { code, message } = WrapperError.from(error, 'Malformed');
    // A label selector of the query is invalid.
    const status = code === 'InvalidSettings' ? 400 : statusOf(error).code;
    return jsonAnswer(JSON.stringify({ code, error: message }), status);
  }
}

/** Characters of a search. Each Service is compared with each of its words. */
const MAX_SEARCH = 200;

const SHOWS = ['filtered', 'failing'] as const;

/** Which Services are summarized. An empty parameter selects all. */
function readSelection(query: URLSearchParams): ServiceSelection {
  const given = (name: string): string | undefined => query.get(name) || undefined;
  const text = query.get('show') ?? '';
  const show = SHOWS.find((each) => each === text);
  if (show === undefined && text !== '') {
    throw new WrapperError('BadRequest', `show must be one of ${SHOWS.join(', ')}`);
  }
  if ((query.get('search') ?? '').length > MAX_SEARCH) {
    throw new WrapperError('BadRequest', `search must have at most ${MAX_SEARCH} characters`);
  }
  const warning = given('warning');
  return {
    namespace: given('namespace'),
    labelSelector: given('labelSelector'),
    search: given('search'),
    warning,
    show,
    warnings: warning !== undefined || query.get('warnings') === 'true',
    count: query.get('count') === 'true',
    after: query.get('after') ?? '',
    limit: readLimit(query),
  };
}

function readService(names: readonly string[]): string {
  try {
    const [namespace = '', name = '', ...more] = names.map(decodeURIComponent);
    if (namespace !== '' && name !== '' && more.length === 0) return `${namespace}/${name}`;
  } catch {
    // A percent sign without an escape sequence: refused below.
  }
  throw new WrapperError('BadRequest', 'the path must end in /<namespace>/<name>');
}

function readNumber(query: URLSearchParams): number {
  const number = Number(query.get('after'));
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new WrapperError('BadRequest', 'after must be the number of a decision');
}

function readLimit(query: URLSearchParams): number {
  const limit = Number(query.get('limit') || RESPONSE_LINES.default);
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= RESPONSE_LINES.max) return limit;
  throw new WrapperError('BadRequest', `limit must be a number from 1 to ${RESPONSE_LINES.max}`);
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
