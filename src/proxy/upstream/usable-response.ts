import type { ResponseHeaders } from './upstream-body.ts';

/**
 * Whether a response is of use: it comes from a Kubernetes API server that works. 5xx and 429 do not: the API server
 * may as well be away.
 */
export function isUsableResponse(statusCode: number, headers: ResponseHeaders = {}): boolean {
  if (isForeignResponse(statusCode, headers)) return false;
  return !isServerFailure(statusCode, headers) && statusCode !== 429;
}

/**
 * Whether a response shows that the server does not work (5xx). A 504 with Retry-After does not: that is the response
 * of an API server that is behind the requested version (NewTooLargeResourceVersionError in apiserver
 * storage/errors.go). A gateway that has timed out sends no Retry-After.
 */
export function isServerFailure(statusCode: number, headers: ResponseHeaders): boolean {
  return statusCode >= 500 && !(statusCode === 504 && headers['retry-after'] !== undefined);
}

/**
 * Whether something else has answered in place of the API server, such as a captive portal. An API server sends no
 * HTML and no redirect for the paths that we request, and each success is in one of its encodings. Its errors may be
 * plain text (404 for a group that is not served).
 */
export function isForeignResponse(statusCode: number, headers: ResponseHeaders): boolean {
  const type = String(headers['content-type'] ?? '').toLowerCase();
  if (type.startsWith('text/html') || (statusCode >= 300 && statusCode < 400)) return true;
  return (
    statusCode < 300 &&
    type !== '' &&
    !/^application\/(json|vnd\.kubernetes\.protobuf)\b/.test(type)
  );
}
