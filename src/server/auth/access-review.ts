import type { Upstream } from '../../client/upstream/upstream.ts';
import { readBody } from '../../client/upstream/upstream-body.ts';
import { WrapperError } from '../../errors.ts';
import type { ReadAttributes, TokenCaller } from './access-policy.ts';

/** The decision of the API server about one read of one caller. */
export type Verdict =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'denied'; readonly reason: string };

/** A review as it is sent. */
interface Review {
  /** API group. */
  readonly group: string;
  readonly kind: string;
  /** The spec as JSON. */
  readonly spec?: object;
  /** The Authorization header of the caller, which is sent in place of our own. */
  readonly authorization: string;
}

/** What the API server answered. */
interface ReviewResponse {
  readonly statusCode: number;
  /** The status of the review; undefined if it was refused. */
  readonly status: Readonly<Record<string, unknown>> | undefined;
}

const MAX_BODY_BYTES = 256 * 1024;
const AUTHORIZATION = 'authorization.k8s.io';
const AUTHENTICATION = 'authentication.k8s.io';

/**
 * The two reviews of an API server. The owner of a token asks with that token, so that nobody needs another right.
 * Both reject with `Unauthorized` if the token is not accepted, with `Unreachable` if the response has no decision,
 * with the errors of {@link Upstream.request}, and when the signal aborts.
 */
export class Reviews {
  readonly #upstream: Upstream;

  constructor(upstream: Upstream) {
    this.#upstream = upstream;
  }

  /** May this caller read this? */
  async access(
    { authorization }: TokenCaller,
    attributes: ReadAttributes,
    signal: AbortSignal,
  ): Promise<Verdict> {
    const kind = 'SelfSubjectAccessReview';
    const spec = { resourceAttributes: resourceAttributes(attributes) };
    const review = { group: AUTHORIZATION, kind, spec, authorization };
    const { statusCode, status } = await postReview(this.#upstream, review, signal);
    if (status !== undefined) {
      const { allowed, denied, reason } = status;
      if (allowed === true && denied !== true) return { kind: 'allowed' };
      return { kind: 'denied', reason: typeof reason === 'string' ? reason.slice(0, 500) : '' };
    }
    if (statusCode !== 403) throw unusableReview(kind, `HTTP ${statusCode}`);
    const reason = `it may not create a ${kind} (ClusterRole system:basic-user)`;
    return { kind: 'denied', reason };
  }

  /**
   * The name of the owner of a token. Undefined: the API server has no SelfSubjectReview (before 1.28), or the owner
   * may not create one.
   */
  async user({ authorization }: TokenCaller, signal: AbortSignal): Promise<string | undefined> {
    const kind = 'SelfSubjectReview';
    const review = { group: AUTHENTICATION, kind, authorization };
    const { statusCode, status } = await postReview(this.#upstream, review, signal);
    if (status !== undefined) {
      const { username: name } = (status.userInfo ?? {}) as Record<string, unknown>;
      if (typeof name !== 'string' || name === '') throw unusableReview(kind, 'no user');
      return name;
    }
    if (statusCode === 403 || statusCode === 404) return undefined;
    throw unusableReview(kind, `HTTP ${statusCode}`);
  }
}

/** The error for a token that the API server does not accept. */
export function unauthenticated(): WrapperError {
  return new WrapperError('Unauthorized', 'the API server does not accept the token');
}

async function postReview(
  upstream: Upstream,
  { group, kind, spec, authorization }: Review,
  signal: AbortSignal,
): Promise<ReviewResponse> {
  const apiVersion = `${group}/v1`;
  const response = await upstream.request({
    method: 'POST',
    path: `/apis/${apiVersion}/${kind.toLowerCase()}s`,
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify({ apiVersion, kind, spec }),
    authorization,
    signal,
  });
  const { statusCode } = response;
  const body = await readBody(response, MAX_BODY_BYTES);
  if (statusCode === 401) throw unauthenticated();
  const isReview = statusCode === 200 || statusCode === 201;
  return { statusCode, status: isReview ? reviewStatus(body, kind) : undefined };
}

function reviewStatus(body: Buffer, kind: string): Readonly<Record<string, unknown>> {
  let status: unknown;
  try {
    status = (JSON.parse(body.toString()) as { status?: unknown } | null)?.status;
  } catch {
    // Handled below, like any other response that is not a review.
  }
  if (typeof status === 'object' && status !== null) return status as Record<string, unknown>;
  throw unusableReview(kind, 'something that is not a review');
}

function unusableReview(kind: string, what: string): WrapperError {
  return new WrapperError('Unreachable', `the API server answered a ${kind} with ${what}`);
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
