import { type ErrorCode, type Status, WrapperError } from '../../errors.ts';

/** HTTP status, Kubernetes reason and Retry-After of each error that clients get (apimachinery api/errors). */
const ANSWERS: Partial<Record<ErrorCode, Omit<Status, 'message'>>> = {
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

/** The Status of an error, for clients. An error that is not a WrapperError is a bug: 500 without details. */
export function statusOf(error: unknown): Status {
  if (!(error instanceof WrapperError)) {
    return { code: 500, reason: 'InternalError', message: 'kube-proxy-wrapper: internal error' };
  }
  if (error.status !== undefined) return error.status;
  const answer = ANSWERS[error.code] ?? { code: 500, reason: 'InternalError' };
  return { ...answer, message: `kube-proxy-wrapper: ${error.message}` };
}
