import { WrapperError } from '../../errors.ts';
import { readBody, type Upstream } from '../upstream/upstream.ts';
import type { Caller, ReadAttributes } from './access-policy.ts';

/** What the API server says about one read of one caller. */
export type Verdict =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'denied'; readonly reason: string }
  /** It does not take the token. */
  | { readonly kind: 'unauthenticated' };

/** A caller that can be told from others. */
export type KnownCaller = Exclude<Caller, { readonly kind: 'anyone' }>;

const MAX_BODY_BYTES = 256 * 1024;
const REVIEWS = '/apis/authorization.k8s.io/v1';

/**
 * Asks the API server whether a caller may read something: with its own token, or under our identity about
 * the owner of a certificate. Rejects with `Unreachable` when there is no answer to rely on, with the
 * errors of {@link Upstream.request}, and when the signal aborts.
 */
export async function createAccessReview(
  upstream: Upstream,
  caller: KnownCaller,
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
    // Refused below, as any other answer that is no review.
  }
  if (typeof status !== 'object' || status === null) {
    throw new WrapperError('Unreachable', `the API server answered a ${kind} with something else`);
  }
  const { allowed, denied, reason } = status as Record<string, unknown>;
  if (allowed === true && denied !== true) return { kind: 'allowed' };
  return { kind: 'denied', reason: typeof reason === 'string' ? reason.slice(0, 500) : '' };
}

/** An API server adds this group to whom it has authenticated; here it was us. */
function subject(caller: KnownCaller): Record<string, unknown> {
  if (caller.kind === 'token') return {};
  return { user: caller.user, groups: [...caller.groups, 'system:authenticated'] };
}

function resourceAttributes(attributes: ReadAttributes): Record<string, unknown> {
  const { labelSelector, fieldSelector, ...rest } = attributes;
  // Understood since 1.31; before, the question is whether all may be read, which is more.
  return {
    ...rest,
    ...(labelSelector === '' ? {} : { labelSelector: { rawSelector: labelSelector } }),
    ...(fieldSelector === '' ? {} : { fieldSelector: { rawSelector: fieldSelector } }),
  };
}
