import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { discoveryDocument } from './discovery.ts';
import type { ActiveRefusal, Faults, SeenRequest } from './faults.ts';
import { failure, type KubeStatus, noSuchPath, StatusError } from './kube-status.ts';
import { parseListOptions } from './list-options.ts';
import { contentType } from './negotiate.ts';
import { serveList, serveObject, watchRequestOf } from './read-requests.ts';
import { type Exchange, respond, respondStatus } from './respond.ts';
import { type Route, routeOf } from './route.ts';
import {
  SELF_SUBJECT_ACCESS_REVIEWS,
  SELF_SUBJECT_REVIEWS,
  serveSelfSubjectAccessReview,
  serveSelfSubjectReview,
} from './self-subject-review.ts';
import type { Store } from './store.ts';
import type { WatchRegistry } from './watch-registry.ts';
import { methodNotAllowed, serveWrite } from './write-requests.ts';

/** The server's logger. Headers are never logged, because they contain tokens. */
export interface Logger {
  debug(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The parts of the server that answer requests. */
export interface RequestHandlerOptions {
  readonly store: Store;
  readonly faults: Faults;
  readonly watches: WatchRegistry;
  /** See ApiServerOptions. */
  readonly authenticate: (token: string | undefined) => boolean | string;
  readonly logger: Logger | undefined;
}

/** Returns the listener of an HTTP server. */
export function createRequestHandler(options: RequestHandlerOptions): RequestListener {
  return (request, response) => {
    // handle() never rejects: it answers every error itself.
    void handle(options, request, response);
  };
}

async function handle(
  options: RequestHandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://fake');
  const exchange: Exchange = { request, response, path, query };
  try {
    await answer(options, exchange);
  } catch (error) {
    if (response.destroyed) return;
    const expected = error instanceof StatusError;
    if (!expected)
      options.logger?.error(
        { err: error, path },
        'fake API server: request failed, answered with 500',
      );
    const status = expected ? error : failure(500, 'InternalError', `Internal error: ${error}`);
    if (response.headersSent) response.destroy();
    else respondStatus(exchange, status.code, status.status);
  } finally {
    const { method } = request;
    options.logger?.debug(
      { method, path, code: response.statusCode },
      'fake API server: request answered',
    );
  }
}

async function answer(options: RequestHandlerOptions, exchange: Exchange): Promise<void> {
  const seen = seenRequest(exchange);
  options.faults.record(seen);
  await options.faults.released(seen);
  if (exchange.response.destroyed) return;
  const user = options.authenticate(bearerToken(exchange.request));
  if (user === false) {
    throw failure(401, 'Unauthorized', 'Unauthorized');
  }
  const refusal = options.faults.refusalOf(seen);
  if (refusal !== undefined) {
    refuse(exchange, refusal);
    return;
  }
  if (exchange.path === SELF_SUBJECT_REVIEWS) {
    serveSelfSubjectReview(exchange, user === true ? undefined : user);
    return;
  }
  if (exchange.path === SELF_SUBJECT_ACCESS_REVIEWS) {
    serveSelfSubjectAccessReview(exchange);
    return;
  }
  const route = routeOf(exchange.path);
  if (route === undefined) serveOther(exchange);
  else if (exchange.request.method === 'GET') serveRead(options, route, seen, exchange);
  else await serveWrite(options.store, route, exchange);
}

function serveRead(
  { store, watches }: RequestHandlerOptions,
  route: Route,
  seen: SeenRequest,
  exchange: Exchange,
): void {
  const options = parseListOptions(exchange.query);
  // An API server ignores `watch` in a GET of one object.
  if (route.name !== undefined) serveObject(store, route, options, exchange);
  else if (options.watch) watches.open(watchRequestOf(route, options, exchange), seen, exchange);
  else serveList(store, route, options, exchange);
}

function serveOther(exchange: Exchange): void {
  const { path, request } = exchange;
  const health = ['/healthz', '/livez', '/readyz'].includes(path);
  const document = health ? 'ok' : discoveryDocument(path);
  if (document === undefined) throw noSuchPath();
  if (request.method !== 'GET') throw methodNotAllowed();
  const body = typeof document === 'string' ? document : `${JSON.stringify(document)}\n`;
  const type = health ? 'text/plain; charset=utf-8' : contentType('json', 'object');
  respond(exchange, 200, type, Buffer.from(body));
}

/** An API server's reason for each code. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function refuse(exchange: Exchange, { refusal, retryAfterSeconds }: ActiveRefusal): void {
  const status: KubeStatus =
    typeof refusal === 'number'
      ? failure(refusal, REASONS[refusal] ?? '', `refused on purpose: ${refusal}`).status
      : refusal;
  const details = { ...status.details, ...(retryAfterSeconds ? { retryAfterSeconds } : {}) };
  respondStatus(exchange, status.code ?? 500, { ...status, details });
}

function seenRequest({ request, path, query }: Exchange): SeenRequest {
  const { method = '', headers } = request;
  return { method, path, query, accept: headers.accept ?? '', headers, at: Date.now() };
}

function bearerToken(request: IncomingMessage): string | undefined {
  const match = /^Bearer\s+(.+)$/i.exec(request.headers.authorization ?? '');
  return match?.[1]?.trim();
}
