import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { RequestInfo } from '../api/request-info.ts';

/** Who asks, as far as that can be told. */
export type Caller =
  /** Any process on the node: the loopback door cannot tell them apart. */
  | { readonly kind: 'anyone' }
  /** Whoever holds a token; what that is worth, only the API server knows. */
  | {
      readonly kind: 'token';
      /** The Authorization header. */
      readonly authorization: string;
      /** Tells callers apart without holding the token. */
      readonly id: string;
    }
  /** The owner of a client certificate that we have verified. */
  | {
      readonly kind: 'certificate';
      readonly user: string;
      readonly groups: readonly string[];
      readonly id: string;
    };

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

/** What a door does with those who come: who they are, what they may read, and what is passed on for them. */
export interface AccessPolicy {
  /** Throws `Unauthorized`, `Forbidden` or `BadRequest` for a request that is not let in at all. */
  authenticate(request: IncomingMessage): Caller;
  /** Whether a request is passed on, rather than answered from a view. Throws for what is neither. */
  shouldForward(
    request: IncomingMessage,
    path: string,
    target: RequestInfo,
    query: URLSearchParams,
  ): boolean;
  /** Rejects with `Forbidden`, `Unauthorized` or `Unreachable` unless the caller may read this. */
  authorize(caller: Caller, attributes: ReadAttributes): Promise<void>;
  /** Passes a request on to the API server. Throws `Forbidden` for what is not. */
  forward(
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
    target: RequestInfo,
  ): void;
  /** Passes on a request to switch protocols. Throws as {@link forward} does. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}
