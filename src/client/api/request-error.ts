import { type ErrorStatus, WrapperError, type WrapperErrorOptions } from '../../errors.ts';
import type { Encoding } from '../../filter/codec/codec.ts';
import type { RequestEnd } from './request-end.ts';

/** Why an API server refuses a version that it has not reached. */
const TOO_LARGE = 'ResourceVersionTooLarge';

/** A failed request whose end neither its code nor its Status shows. With a Status it is `Refused`. */
export class RequestError extends WrapperError {
  readonly end: RequestEnd;

  constructor(end: RequestEnd, message: string, options: WrapperErrorOptions = {}) {
    super(options.status === undefined ? 'Unreachable' : 'Refused', message, options);
    this.end = end;
  }
}

/** How a request ended that failed with this error. */
export function endOf(error: WrapperError): RequestEnd {
  const { code, status } = error;
  if (code === 'Malformed') return 'malformed';
  if (code === 'TooLarge') return 'tooLarge';
  if (code === 'LimitExceeded') return 'noRoom';
  if (code === 'Internal') return 'internal';
  if (error instanceof RequestError) return error.end;
  return status === undefined ? 'unreachable' : endOfStatus(status);
}

/** How a request ended that was refused with this HTTP status. Any other is `serverError` or `refused`. */
const ENDS_BY_STATUS: Readonly<Record<number, RequestEnd>> = {
  400: 'rejected',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'rejected',
  405: 'rejected',
  406: 'rejected',
  408: 'overloaded',
  410: 'expired',
  415: 'rejected',
  422: 'rejected',
  425: 'overloaded',
  429: 'overloaded',
};

/** How a request ended that the API server has refused with this Status. */
export function endOfStatus({ code, causes }: ErrorStatus): RequestEnd {
  // apimachinery errors.IsTooLargeResourceVersion.
  const isBehind = causes?.some(({ reason }) => reason === TOO_LARGE) ?? false;
  if (code === 504 && isBehind) return 'behind';
  return ENDS_BY_STATUS[code] ?? (code >= 500 ? 'serverError' : 'refused');
}

/** What an API server answers that is behind a version (NewTooLargeResourceVersionError). */
export function tooLargeVersion(message: string): WrapperError {
  const causes = [{ reason: TOO_LARGE, message }];
  return new WrapperError('Refused', message, {
    status: { code: 504, reason: 'Timeout', message, causes },
  });
}

/** The API server answers in another encoding than before: only a list has all objects in it. */
export function otherEncoding(encoding: Encoding): WrapperError {
  const message = `the API server answers in ${encoding} now: all objects are listed again`;
  const status = { code: 410, reason: 'Expired', message };
  return new WrapperError('Refused', message, { status });
}
