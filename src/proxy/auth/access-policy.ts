import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestTarget } from '../api/request-info.ts';
import type { ForwardOptions } from '../passthrough/passthrough.ts';

/*
 * The room auth: who sends a request, and whether it may be read or forwarded.
 *   loopback-access.ts           plain http: anybody on the node reads, and nothing is forwarded
 *   caller-access.ts             https: each caller with its own rights
 *   caller-reader.ts             the caller of an https request, by its token
 *   access-review-authorizer.ts  who a caller is and what it may read, as the API server answers
 *   access-review.ts             how it is asked
 *   caller-cache.ts              its answers
 * It takes no decision about a user itself, and lends nobody the identity of the wrapper.
 */

/** Who sends a request, as far as we can tell. */
export type Caller =
  /** Any process on the node: over loopback they cannot be distinguished. */
  { readonly kind: 'anyone' } | TokenCaller;

/** The owner of a token. Only the API server can verify it. */
export interface TokenCaller {
  readonly kind: 'token';
  /** The Authorization header. */
  readonly authorization: string;
  /** Identifies the token, in all its spellings; does not contain it. */
  readonly id: string;
}

/** A read as the API server's authorizers see it (authorization/v1 ResourceAttributes). */
export interface ReadAttributes {
  readonly verb: 'get' | 'list' | 'watch';
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Empty: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string;
  /** Empty: any. */
  readonly name: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

/**
 * Who may do what on one listener: LoopbackAccess for http, CallerAccess for https. For each request, the handler calls
 * authenticate, then forwarding, and then either forward or authorize.
 */
export interface AccessPolicy {
  /** Determines the caller. Throws `Unauthorized`, `Forbidden` or `BadRequest` if the request is refused. */
  authenticate(request: IncomingMessage): Caller;
  /** How a request is forwarded; undefined: a view answers it. Throws if it must be neither. */
  forwarding(request: IncomingMessage, target: RequestTarget): ForwardOptions | undefined;
  /**
   * Resolves with the id of the user, by which quotas count; undefined: anyone. The read counts until the response is
   * closed. Rejects with `Forbidden`, `Unauthorized`, `LimitExceeded` or `Unreachable` if the caller may not read this.
   */
  authorize(
    caller: Caller,
    attributes: ReadAttributes,
    response: ServerResponse,
  ): Promise<string | undefined>;
  /** Forwards a request to the API server. Rejects with `Forbidden` if it must not be forwarded. */
  forward(
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
    options: ForwardOptions,
  ): Promise<void>;
}
