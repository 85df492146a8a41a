import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readUrl } from '../client/api/request-url.ts';
import { statusOf } from '../client/api/status.ts';
import { WrapperError } from '../errors.ts';
import { answerAndEnd, hasBody } from '../server/http/http-errors.ts';
import { type RefusalLog, reasonOf } from '../server/http/refusal-log.ts';
import { assertLocalRequest } from '../server/http/request-checks.ts';
import { printLine } from '../text/untrusted-text.ts';
import type { Route } from './answer.ts';
import { NAMED_PATHS } from './explain-routes.ts';

/** Name of the setting with the address, for log lines and metrics. */
export const ADMIN_LISTENER = 'adminListen';
/** Paths with which kubelet checks whether this process is alive and ready. */
export const PROBES: readonly string[] = ['/healthz', '/readyz'];

/** Headers of plain text. */
export const TEXT_HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'x-content-type-options': 'nosniff',
} as const;

/** What answers requests, by path, and their paths for people. */
export interface AdminRoutes {
  readonly routes: ReadonlyMap<string, Route>;
  readonly paths: string;
}

/** Returns what answers the requests of an admin listener. */
export function createHandler(
  { routes, paths }: AdminRoutes,
  refusals: RefusalLog,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const about = { listener: ADMIN_LISTENER, verb: request.method, resource: request.url };
    const path = pathOf(request);
    const methods = path === '/flush' ? ['POST'] : ['GET', 'HEAD'];
    const route = routes.get(path);
    try {
      assertAccepted(request, route === undefined ? paths : undefined, methods);
    } catch (error) {
      const { code: reason, message } = WrapperError.from(error, 'Forbidden');
      refusals.report({ ...about, reason, message });
      const headers: OutgoingHttpHeaders = { ...TEXT_HEADERS };
      if (reason === 'MethodNotAllowed') headers.allow = methods.join(', ');
      const { code } = statusOf(error);
      return answerAndEnd(request, response, { code, headers, body: printLine(message) });
    }
    const answerUnlessGone = async (): Promise<void> => {
      if (!PROBES.includes(path)) await endNoticed();
      const answer = response.destroyed ? undefined : await route?.(request, response);
      if (answer === undefined) return;
      response.writeHead(answer.code ?? 200, answer.headers ?? TEXT_HEADERS).end(answer.body);
    };
    answerUnlessGone().catch((error: unknown) => {
      const why = { reason: reasonOf(error), message: 'an error of the wrapper itself' };
      refusals.report({ ...about, ...why, err: error, level: 'error' });
      response.destroy();
    });
  };
}

/**
 * Resolves when Node has noticed the end of a connection that the client closed right after its request. Such
 * connections can fill the accept queue, and probes wait for them: none may cause work.
 *
 * Turn 1 of the event loop is the rest of the one that has read the request. Turn 2 reads the end of the connection,
 * and ends it too. Turn 3 finds the response destroyed.
 */
async function endNoticed(): Promise<void> {
  for (let turn = 1; turn <= 3; turn++) await nextTurn();
}

/** The path of a request, without the names of a Service. */
function pathOf(request: IncomingMessage): string {
  const { path } = readUrl(request);
  const first = path.split('/', 2).join('/');
  return NAMED_PATHS.includes(first) ? first : path;
}

/** Throws why a request is refused. @param paths those that exist, if the path of the request does not */
function assertAccepted(
  request: IncomingMessage,
  paths: string | undefined,
  methods: readonly string[],
): void {
  // A web page in a browser on this node could have sent the request.
  assertLocalRequest(request);
  if (paths !== undefined) {
    throw new WrapperError('NotFound', `unknown path; the paths are ${paths}`);
  }
  if (!methods.includes(request.method ?? '')) {
    throw new WrapperError('MethodNotAllowed', `the method must be ${methods.join(' or ')}`);
  }
  // Nothing would read the body, so its bytes could be parsed as the next request.
  if (hasBody(request)) {
    throw new WrapperError('BadRequest', 'a request to this port must not have a body');
  }
}
