import { type Status, WrapperError } from '../../errors.ts';
import { apiVersion } from '../../filter/objects/resource.ts';
import { CODECS } from '../api/codecs.ts';
import { type Query, queryPath } from '../api/query.ts';
import { RequestError } from '../api/request-error.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import { readBody } from '../upstream/upstream-body.ts';
import { endOfResponse, mediaType } from './end-of-response.ts';

const MAX_STATUS_BYTES = 1024 * 1024;
/** A list has its kind within so many bytes. */
const HEAD_BYTES = 100;

/**
 * Reads a response that is not the requested list or watch, and reports who has sent it. Resolves with the error of the
 * request.
 */
export async function readRefusal(
  query: Query,
  response: UpstreamResponse,
  forOthers?: boolean,
): Promise<RequestError> {
  const { statusCode, headers } = response;
  const found = await readErrorStatus(response, query);
  const retryAfter = Number(headers['retry-after']);
  const status: Status = {
    code: statusCode,
    reason: found?.reason ?? '',
    message: found?.message ?? `HTTP ${statusCode}`,
    causes: found?.causes,
    retryAfterSeconds: retryAfter > 0 ? retryAfter : found?.retryAfterSeconds,
  };
  const end = endOfResponse(response, found && status, query.resource.group, forOthers);
  response.report(end);
  if (end === 'foreign') return foreignAnswer(query, response);
  const message = `the API server refused GET ${queryPath(query)}: ${status.code} ${status.message}`;
  return new RequestError(end, message, { status });
}

/**
 * The Status of a refusal; undefined: there is none. Its type does not matter: if only metadata is requested, the API
 * server writes its errors in JSON (WriteObjectNegotiated), and a timeout is JSON without a type (timeout.go in
 * apiserver server/filters).
 */
async function readErrorStatus(
  response: UpstreamResponse,
  { encoding }: Query,
): Promise<Status | undefined> {
  const { statusCode, body } = response;
  if (statusCode < 400 || mediaType(response) === 'text/html') {
    body.destroy();
    return undefined;
  }
  try {
    const bytes = await readBody(response, MAX_STATUS_BYTES);
    return CODECS.json.decodeStatus(bytes) ?? CODECS[encoding].decodeStatus(bytes);
  } catch (error) {
    const { code } = WrapperError.from(error, 'Unreachable');
    if (code === 'TooLarge' || code === 'Malformed') return undefined;
    throw error;
  }
}

/**
 * Whether a body has the beginning of a list of an API server: then no other service has sent it. In JSON, the lists of
 * custom resources begin with their apiVersion, and those of caches do.
 */
export function beginsAsList([first = Buffer.alloc(0)]: readonly Buffer[], query: Query): boolean {
  const { resource } = query;
  const kind = query.metadataOnly ? 'PartialObjectMetadataList' : `${resource.kind}List`;
  const head = first.toString('latin1', 0, HEAD_BYTES);
  if (head.startsWith('k8s\0')) return head.includes(kind);
  return (
    head.startsWith(`{"kind":"${kind}"`) ||
    head.startsWith(`{"apiVersion":"${apiVersion(resource)}"`)
  );
}

/** The error of a request that something else than an API server has answered. */
export function foreignAnswer(
  query: Query,
  { statusCode, headers }: UpstreamResponse,
  problem = '',
): RequestError {
  const type = String(headers['content-type'] ?? '');
  const detail = problem === '' ? '' : ` (${problem})`;
  return new RequestError(
    'foreign',
    `GET ${queryPath(query)} was answered with ${statusCode} and "${type}"${detail}, which is not of a Kubernetes API server: a captive portal, a proxy or another service is in its place`,
  );
}
