import { contentType, negotiate } from './negotiate.ts';
import { type Exchange, respond } from './respond.ts';
import { methodNotAllowed } from './write-requests.ts';

/** Where a client finds out which user its token belongs to (since Kubernetes 1.28). */
export const SELF_SUBJECT_REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

/**
 * Answers a SelfSubjectReview, in JSON. Its request has no spec, so the body is not read.
 *
 * @param user undefined: an anonymous request
 */
export function serveSelfSubjectReview(exchange: Exchange, user: string | undefined): void {
  const { method, headers } = exchange.request;
  if (method !== 'POST') throw methodNotAllowed();
  negotiate(headers.accept, 'object');
  const userInfo =
    user === undefined
      ? { username: 'system:anonymous', groups: ['system:unauthenticated'] }
      : { username: user, groups: ['system:authenticated'] };
  const review = {
    kind: 'SelfSubjectReview',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { creationTimestamp: new Date().toISOString().replace(/\.\d+/, '') },
    status: { userInfo },
  };
  respond(exchange, 201, contentType('json', 'object'), Buffer.from(`${JSON.stringify(review)}\n`));
  exchange.request.resume();
}
