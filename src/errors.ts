/**
 * Everything that can go wrong, as a closed set. Match on `code`, not on the message.
 *
 * | code | meaning | HTTP status for a client |
 * |---|---|---|
 * | InvalidSettings | a flag, an environment variable or the settings file is wrong | none: the program does not start |
 * | InvalidPolicy | an annotation that should hold topology keys does not | none: the Service is unfiltered |
 * | Credentials | a kubeconfig, token or certificate cannot be read or used | 503 |
 * | Malformed | bytes from upstream do not parse | 502 |
 * | TooLarge | a frame or body exceeds its bound | 502 |
 * | Unreachable | the API server could not be reached, or went away while it answered | 503 |
 * | Unanswered | the API server may have carried out what it gave no answer to | 504 |
 * | Refused | the API server answered with an error Status; see `status` | that of the Status |
 * | BadRequest | a query or path this proxy does not understand | 400 |
 * | Unauthorized | no credentials, or none that the API server takes | 401 |
 * | Forbidden | not granted by the allow-list, or by the API server | 403 |
 * | NotFound | no such object in the view | 404 |
 * | MethodNotAllowed | a verb this collection does not serve | 405 |
 * | NotAcceptable | no media type of the Accept header can be served | 406 |
 * | Expired | a resourceVersion from which a watch cannot continue | 410 |
 * | NotReady | the view behind the request has not synced yet | 503 |
 * | LimitExceeded | a client reached one of our bounds, which the message names | 503, 413, 431 or 408 |
 * | TooLargeResourceVersion | a resourceVersion newer than the view's | 504 |
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
  | 'TooLargeResourceVersion';

/** A Kubernetes `Status` of kind Failure, reduced to what clients act on (apimachinery meta/v1 types.go). */
export interface Status {
  /** HTTP status code. */
  readonly code: number;
  /** Machine-readable reason, e.g. `Expired`, `Forbidden`. */
  readonly reason: string;
  readonly message: string;
  /** Seconds after which the client may try again. */
  readonly retryAfterSeconds?: number;
  /** Machine-readable details, e.g. `{ reason: 'ResourceVersionTooLarge', message: … }`. */
  readonly causes?: readonly StatusCause[];
}

/** One entry of `Status.details.causes`. */
export interface StatusCause {
  readonly reason: string;
  readonly message: string;
}

/** What else an error can carry. */
export interface WrapperErrorOptions {
  readonly cause?: unknown;
  /** The Status the API server answered with; for code `Refused`. */
  readonly status?: Status;
  /** Byte offset in the body or stream at which parsing failed; for code `Malformed`. */
  readonly offset?: number;
}

/** The one error class of this program. The message names the thing at fault and the way out. */
export class WrapperError extends Error {
  override readonly name = 'WrapperError';
  readonly code: ErrorCode;
  readonly status: Status | undefined;
  readonly offset: number | undefined;

  constructor(code: ErrorCode, message: string, options: WrapperErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status;
    this.offset = options.offset;
  }

  /** Returns `error` if it is one of ours, else wraps it under `code`, keeping it as the cause. */
  static from(error: unknown, code: ErrorCode): WrapperError {
    if (error instanceof WrapperError) return error;
    const message = error instanceof Error ? error.message : String(error);
    return new WrapperError(code, message, { cause: error });
  }
}
