import { type Collection, qualifiedName } from './collections.ts';

/** A `Status` without kind and apiVersion, its fields in the order in which an API server sends them. */
export interface KubeStatus {
  readonly metadata: Readonly<Record<string, never>>;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: KubeStatusDetails;
  readonly code?: number;
}

/** `details` of a Status. */
export interface KubeStatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly { reason?: string; message?: string; field?: string }[];
  readonly retryAfterSeconds?: number;
}

/** An error that is answered with a Status `Failure`. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: KubeStatus;

  constructor(status: KubeStatus) {
    super(status.message);
    this.status = status;
  }

  /** HTTP status code. */
  get code(): number {
    return this.status.code ?? 500;
  }
}

/** Builds an error from its code, reason, message and details. */
export function failure(
  code: number,
  reason: string,
  message: string,
  details?: KubeStatusDetails,
): StatusError {
  return new StatusError({
    metadata: {},
    status: 'Failure',
    message,
    ...(reason === '' ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  });
}

// Reasons and messages as in apimachinery/pkg/api/errors/errors.go.

/** No such object. */
export function notFound(collection: Collection, name: string): StatusError {
  const message = `${qualifiedName(collection)} "${name}" not found`;
  return failure(404, 'NotFound', message, about(collection, name));
}

/** No such path. */
export function noSuchPath(): StatusError {
  return failure(404, 'NotFound', 'the server could not find the requested resource', {});
}

/** POST of a name that exists. */
export function alreadyExists(collection: Collection, name: string): StatusError {
  const message = `${qualifiedName(collection)} "${name}" already exists`;
  return failure(409, 'AlreadyExists', message, about(collection, name));
}

/** A write with a resourceVersion or uid that the object no longer has. */
export function conflict(collection: Collection, name: string): StatusError {
  const message =
    `Operation cannot be fulfilled on ${qualifiedName(collection)} "${name}": the object has been ` +
    'modified; please apply your changes to the latest version and try again';
  return failure(409, 'Conflict', message, about(collection, name));
}

/** One error of validation. */
export interface FieldError {
  readonly field: string;
  /** e.g. `FieldValueForbidden`, `FieldValueInvalid`. */
  readonly reason: string;
  readonly message: string;
}

/** Content or options that are invalid. */
export function invalid(
  subject: { readonly kind: string; readonly group: string; readonly name: string },
  errors: readonly FieldError[],
): StatusError {
  const kind = subject.group === '' ? subject.kind : `${subject.kind}.${subject.group}`;
  const each = errors.map((error) => `${error.field}: ${error.message}`);
  const all = each.length === 1 ? each[0] : `[${each.join(', ')}]`;
  return failure(422, 'Invalid', `${kind} "${subject.name}" is invalid: ${all}`, {
    ...(subject.name === '' ? {} : { name: subject.name }),
    ...(subject.group === '' ? {} : { group: subject.group }),
    kind: subject.kind,
    causes: errors.map(({ field, reason, message }) => ({ reason, message, field })),
  });
}

/** A malformed request. */
export function badRequest(message: string): StatusError {
  return failure(400, 'BadRequest', message);
}

/** A watch from a version that is no longer in the history (HTTP 410, or an ERROR event). */
export function expired(message: string): StatusError {
  return failure(410, 'Expired', message);
}

/** A version above the newest; clients look for the cause. */
export function tooLargeResourceVersion(wanted: bigint, newest: number): StatusError {
  const message = `Timeout: Too large resource version: ${wanted}, current: ${newest}`;
  return failure(504, 'Timeout', message, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

function about(collection: Collection, name: string): KubeStatusDetails {
  const group = collection.group === '' ? {} : { group: collection.group };
  return { name, ...group, kind: collection.plural };
}
