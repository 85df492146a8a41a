import { WrapperError } from '../../errors.ts';
import { readBody, type Upstream } from '../upstream/upstream.ts';
import type { Caller, ReadAttributes } from './access-policy.ts';

/** The decision of the API server about one read of one caller. */
export type Verdict =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'denied'; readonly reason: string }
  /** It does not accept the token. */
  | { readonly kind: 'unauthenticated' };

/** A caller with an identity of its own. */
export type IdentifiedCaller = Exclude<Caller, { readonly kind: 'anyone' }>;

const MAX_BODY_BYTES = 256 * 1024;
const REVIEWS = '/apis/authorization.k8s.io/v1';

/**
 * Creates an access review at the API server: may this caller read this? The owner of a token asks with that token
 * (SelfSubjectAccessReview). About the owner of a certificate we ask with our own identity (SubjectAccessReview).
 * Rejects with `Unreachable` if the response has no decision, with the errors of {@link Upstream.request}, and when
 * the signal aborts.
 */
export async function createAccessReview(
  upstream: Upstream,
  caller: IdentifiedCaller,
  attributes: ReadAttributes,
  signal: AbortSignal,
): Promise<Verdict> {
  const own = caller.kind === 'token';
  const kind = own ? 'SelfSubjectAccessReview' : 'SubjectAccessReview';
  const response = await upstream.request({
    method: 'POST',
    path: `${REVIEWS}/${own ? 'selfsubjectaccessreviews' : 'subjectaccessreviews'}`,
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind,
      spec: { ...subject(caller), resourceAttributes: resourceAttributes(attributes) },
    }),
    ...(own ? { authorization: caller.authorization } : {}),
    signal,
  });
  const { statusCode } = response;
  const body = await readBody(response.body, MAX_BODY_BYTES, response.headers);
  if (statusCode === 200 || statusCode === 201) return verdictOf(body, kind);
  if (own && statusCode === 401) return { kind: 'unauthenticated' };
  if (own && statusCode === 403) {
    return {
      kind: 'denied',
      reason: `it may not create a ${kind} (ClusterRole system:basic-user)`,
    };
  }
  const hint =
    !own && statusCode === 403
      ? '; the wrapper needs the right to create SubjectAccessReviews to serve client certificates'
      : '';
  throw new WrapperError(
    'Unreachable',
    `the API server answered a ${kind} with HTTP ${statusCode}${hint}`,
  );
}

function verdictOf(body: Buffer, kind: string): Verdict {
  let status: unknown;
  try {
    status = (JSON.parse(body.toString()) as { status?: unknown } | null)?.status;
  } catch {
    // Handled below, like any other response that is not a review.
  }
  if (typeof status !== 'object' || status === null) {
    throw new WrapperError(
      'Unreachable',
      `the API server answered a ${kind} with something that is not a review`,
    );
  }
  const { allowed, denied, reason } = status as Record<string, unknown>;
  if (allowed === true && denied !== true) return { kind: 'allowed' };
  return { kind: 'denied', reason: typeof reason === 'string' ? reason.slice(0, 500) : '' };
}

/** An API server adds the group system:authenticated to a user. Here we authenticated the user, so we add it. */
function subject(caller: IdentifiedCaller): Record<string, unknown> {
  if (caller.kind === 'token') return {};
  return { user: caller.user, groups: [...caller.groups, 'system:authenticated'] };
}

function resourceAttributes(attributes: ReadAttributes): Record<string, unknown> {
  const { labelSelector, fieldSelector, ...rest } = attributes;
  // An API server before 1.31 ignores the selectors, and decides whether the caller may read all objects.
  return {
    ...rest,
    ...(labelSelector === '' ? {} : { labelSelector: { rawSelector: labelSelector } }),
    ...(fieldSelector === '' ? {} : { fieldSelector: { rawSelector: fieldSelector } }),
  };
}
