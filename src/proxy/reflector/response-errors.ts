import { type Status, WrapperError } from '../../errors.ts';
import type { Codec } from '../../filter/codec/codec.ts';
import { decodeStatus as decodeJsonStatus } from '../../filter/codec/json/decode.ts';
import { mediaType } from '../upstream/judge-response.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import { readBody } from '../upstream/upstream-body.ts';

const MAX_STATUS_BYTES = 1024 * 1024;

/**
 * The Status of a refusal; undefined: there is none. Its type does not matter: if only metadata is requested, the API
 * server writes its errors in JSON (WriteObjectNegotiated), and a timeout is JSON without a type (timeout.go in apiserver
 * server/filters).
 */
export async function readStatus(
  { statusCode, headers, body }: UpstreamResponse,
  codec: Codec,
): Promise<Status | undefined> {
  if (statusCode < 400 || mediaType(headers) === 'text/html') {
    body.destroy();
    return undefined;
  }
  try {
    const bytes = await readBody(body, MAX_STATUS_BYTES, headers);
    return decodeJsonStatus(bytes) ?? codec.decodeStatus(bytes);
  } catch (error) {
    const { code } = WrapperError.from(error, 'Unreachable');
    if (code === 'TooLarge' || code === 'Malformed') return undefined;
    throw error;
  }
}

/**
 * The error of a refused request.
 *
 * @param isAbsent the collection may be absent, or something else has answered: the caller finds out
 */
export function refusal(
  path: string,
  { statusCode, headers }: UpstreamResponse,
  found: Status | undefined,
  isAbsent: boolean,
): WrapperError {
  const header = Number(headers['retry-after']);
  const retryAfterSeconds = header > 0 ? header : found?.retryAfterSeconds;
  const status: Status = {
    code: statusCode,
    reason: found?.reason ?? '',
    message: found?.message ?? `HTTP ${statusCode}`,
    causes: found?.causes,
    retryAfterSeconds,
  };
  const message = `the API server refused GET ${path}: ${status.code} ${status.message}`;
  return new WrapperError(isAbsent ? 'Unreachable' : 'Refused', message, { status });
}

/** The error of a request that something else than an API server has answered. */
export function foreignAnswer(
  path: string,
  { statusCode, headers, isRelay = false }: UpstreamResponse,
  body = '',
): WrapperError {
  const type = String(headers['content-type'] ?? '');
  const detail = body === '' ? '' : ` (${body})`;
  if (isRelay) {
    const problem = `the relay does not serve GET ${path}: ${statusCode}${detail}`;
    return new WrapperError('Unreachable', problem);
  }
  return new WrapperError(
    'Unreachable',
    `GET ${path} was answered with ${statusCode} and "${type}"${detail}, which is not of a Kubernetes API server: a captive portal, a proxy or another service is in its place`,
  );
}
