import { contentType, negotiate } from './negotiate.ts';
import { type Exchange, respond } from './respond.ts';
import { methodNotAllowed } from './write-requests.ts';

/** Where a client finds out which user its token belongs to (since Kubernetes 1.28). */
export const SELF_SUBJECT_REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
/** Where a client finds out what its token may read. */
export const SELF_SUBJECT_ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/**
 * Answers a SelfSubjectReview, in JSON. Its request has no spec, so the body is not read.
 *
 * @param user undefined: an anonymous request
 */
export function serveSelfSubjectReview(exchange: Exchange, user: string | undefined): void {
  const userInfo =
    user === undefined
      ? { username: 'system:anonymous', groups: ['system:unauthenticated'] }
      : { username: user, groups: ['system:authenticated'] };
  serveReview(exchange, 'authentication.k8s.io/v1', 'SelfSubjectReview', { userInfo });
}

/** Answers a SelfSubjectAccessReview: there is no authorization, so everything is allowed. */
export function serveSelfSubjectAccessReview(exchange: Exchange): void {
  const status = { allowed: true };
  serveReview(exchange, 'authorization.k8s.io/v1', 'SelfSubjectAccessReview', status);
}

function serveReview(exchange: Exchange, apiVersion: string, kind: string, status: object): void {
  const { method, headers } = exchange.request;
  if (method !== 'POST') throw methodNotAllowed();
  negotiate(headers.accept, 'object');
  const creationTimestamp = new Date().toISOString().replace(/\.\d+/, '');
  const review = { kind, apiVersion, metadata: { creationTimestamp }, status };
  respond(exchange, 201, contentType('json', 'object'), Buffer.from(`${JSON.stringify(review)}\n`));
  exchange.request.resume();
}
