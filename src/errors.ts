import { messageOf } from './util/message-of.ts';

/**
 * All kinds of errors, as a closed set. Compare the `code`, not the message.
 *
 * | code | meaning | HTTP status for a client |
 * |---|---|---|
 * | InvalidSettings | a flag, environment variable or settings file is wrong | no client: the program does not start |
 * | InvalidPolicy | an annotation about policies is invalid | no client: the Service is unfiltered |
 * | Credentials | a kubeconfig, token or certificate cannot be read or used | 503 |
 * | Malformed | bytes from the API server cannot be parsed | 502 |
 * | TooLarge | a frame or body exceeds its limit | 502 |
 * | Unreachable | the API server could not be reached, or the connection was lost during the response | 503 |
 * | Unanswered | the API server did not respond, and may have carried out the request | 504 |
 * | Refused | the API server responded with an error Status; see `status` | that of the Status |
 * | BadRequest | a query or path that this proxy does not understand | 400 |
 * | Unauthorized | no credentials, or the API server rejects them | 401 |
 * | Forbidden | neither the allow-list nor the API server permits the request | 403 |
 * | NotFound | the object is not in the view | 404 |
 * | MethodNotAllowed | a verb that this collection does not support | 405 |
 * | NotAcceptable | no media type of the Accept header is supported | 406 |
 * | Expired | a resourceVersion from which a watch cannot continue | 410 |
 * | NotReady | the view behind the request has not synced yet | 503 |
 * | LimitExceeded | a client reached a limit, which the message names | 503, 431, 429 or 408 |
 * | TooLargeResourceVersion | a resourceVersion newer than the view | 504 |
 * | Internal | a bug of this program; the cause has the stack | 500 |
 */
export type ErrorCode =
  | 'InvalidSettings'
  | 'InvalidPolicy'
  | 'Credentials'
  | 'Malformed'
  | 'TooLarge'
  | 'Unreachable'
  | 'Unanswered'
  | 'Refused'
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'Expired'
  | 'NotReady'
  | 'LimitExceeded'
  | 'TooLargeResourceVersion'
  | 'Internal';

/** The parts of a Kubernetes `Status` with status Failure that clients use (apimachinery meta/v1 types.go). */
export interface Status {
  /** HTTP status code. */
  readonly code: number;
  /** Machine-readable reason, e.g. `Expired`, `Forbidden`. */
  readonly reason: string;
  readonly message: string;
  /** Seconds after which the client may retry. */
  readonly retryAfterSeconds?: number;
  /** Machine-readable details, e.g. `{ reason: 'ResourceVersionTooLarge', message: … }`. */
  readonly causes?: readonly StatusCause[];
  /** The object in question. */
  readonly subject?: StatusSubject;
}

/** The object that a Status is about: parts of `Status.details`. */
export interface StatusSubject {
  readonly name: string;
  /** API group; empty for core. */
  readonly group: string;
  /** Plural name of the resource: the API server writes no kind here. */
  readonly kind: string;
}

/** One entry of `Status.details.causes`. */
export interface StatusCause {
  readonly reason: string;
  readonly message: string;
}

/** A Status with the message of its error, unless it has one. */
export type ErrorStatus = Omit<Status, 'message'> & Partial<Pick<Status, 'message'>>;

/** Optional parts of an error. */
export interface WrapperErrorOptions {
  readonly cause?: unknown;
  /** The Status for clients, for code `Refused` the Status of the API server; default: see statusOf. */
  readonly status?: ErrorStatus;
  /** Byte offset in the body or stream at which parsing failed; for code `Malformed`. */
  readonly offset?: number;
  /** For how long nothing had arrived, in milliseconds; if a connection was found to be dead. */
  readonly silentMs?: number;
  /** The network has failed on the way to a relay, which shows nothing about the API server; default: false. */
  readonly isRelay?: boolean;
}

/** An error with a code. The message names the cause and what the reader can do. */
export class WrapperError extends Error {
  override readonly name = 'WrapperError';
  readonly code: ErrorCode;
  readonly status: ErrorStatus | undefined;
  readonly offset: number | undefined;
  readonly silentMs: number | undefined;
  readonly isRelay: boolean;

  constructor(code: ErrorCode, message: string, options: WrapperErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status;
    this.offset = options.offset;
    this.silentMs = options.silentMs;
    this.isRelay = options.isRelay ?? false;
  }

  /** Returns a WrapperError unchanged; wraps any other error as the cause of one with this `code`. */
  static from(error: unknown, code: ErrorCode): WrapperError {
    if (error instanceof WrapperError) return error;
    return new WrapperError(code, messageOf(error), { cause: error });
  }
}

/** What the log says of an error that is a bug of this program, and what follows from it. */
export function bugText(consequence: string): string {
  return `a bug of kube-proxy-wrapper itself: ${consequence}; please report it`;
}
