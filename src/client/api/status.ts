import { type ErrorCode, type ErrorStatus, type Status, WrapperError } from '../../errors.ts';

/** HTTP status, Kubernetes reason and Retry-After of each error that clients get (apimachinery api/errors). */
const ANSWERS: Partial<Record<ErrorCode, ErrorStatus>> = {
  BadRequest: { code: 400, reason: 'BadRequest' },
  Unauthorized: { code: 401, reason: 'Unauthorized' },
  Forbidden: { code: 403, reason: 'Forbidden' },
  NotFound: { code: 404, reason: 'NotFound' },
  MethodNotAllowed: { code: 405, reason: 'MethodNotAllowed' },
  NotAcceptable: { code: 406, reason: 'NotAcceptable' },
  Expired: { code: 410, reason: 'Expired' },
  Malformed: { code: 502, reason: 'InternalError' },
  TooLarge: { code: 502, reason: 'InternalError' },
  NotReady: { code: 503, reason: 'ServiceUnavailable', retryAfterSeconds: 1 },
  LimitExceeded: { code: 503, reason: 'ServiceUnavailable', retryAfterSeconds: 1 },
  Unreachable: { code: 503, reason: 'ServiceUnavailable', retryAfterSeconds: 1 },
  Credentials: { code: 503, reason: 'ServiceUnavailable', retryAfterSeconds: 5 },
  // Without Retry-After: with it, client-go would send the request again, even a write (rest/with_retry.go).
  Unanswered: { code: 504, reason: 'Timeout' },
  TooLargeResourceVersion: {
    code: 504,
    reason: 'Timeout',
    retryAfterSeconds: 1,
    // Clients distinguish this from other timeouts by its cause (client-go isTooLargeResourceVersionError).
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
  },
};

const INTERNAL_ERROR = { code: 500, reason: 'InternalError' };

/** The Status of an error, for clients. An error that is not a WrapperError is a bug: 500 without details. */
export function statusOf(error: unknown): Status {
  const isKnown = error instanceof WrapperError;
  const message = `kube-proxy-wrapper: ${isKnown ? error.message : 'internal error'}`;
  const answer = isKnown ? (error.status ?? ANSWERS[error.code]) : undefined;
  return { message, ...(answer ?? INTERNAL_ERROR) };
}
