import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestTarget } from '../../client/api/request-info.ts';
import type { CountedCaller } from '../http/caller-limits.ts';

/*
 * The room auth: who sends a request, and whether it may be read or forwarded.
 *   loopback-access.ts           plain http: anybody on the node reads, and nothing is forwarded
 *   caller-access.ts             https: each caller with its own rights
 *   caller-reader.ts             the caller of an https request, by its token
 *   access-review-authorizer.ts  who a caller is and what it may read, as the API server answers
 *   access-review.ts             how it is asked
 *   resource-attributes.ts       what it is asked about
 *   caller-cache.ts              its answers
 * It takes no decision about a user itself, and lends nobody the identity of the wrapper.
 */

/** The owner of a token. Only the API server can verify it. */
export interface TokenCaller {
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
 * Who may do what on one listener: authenticateLocal for http, createCallerPolicy for https. Determines the caller of
 * a request. Throws `Unauthorized`, `Forbidden` or `BadRequest` if the request is refused.
 */
export type AccessPolicy = (request: IncomingMessage) => Access;

/** What the caller of a request may do with it. The handler calls forward, and then authorize if a view answers it. */
export interface Access {
  /**
   * Forwards the request to the API server; undefined: a view answers it. Throws if the request is refused; rejects if
   * forwarding fails.
   */
  forward(response: ServerResponse, target: RequestTarget): Promise<void> | undefined;
  /**
   * Resolves with the caller, by whom quotas count; undefined: anyone. The read counts until the response is closed.
   * Rejects with `Forbidden`, `Unauthorized`, `LimitExceeded` or `Unreachable` if the caller may not read this.
   */
  authorize(
    attributes: ReadAttributes,
    response: ServerResponse,
  ): Promise<CountedCaller | undefined>;
}
