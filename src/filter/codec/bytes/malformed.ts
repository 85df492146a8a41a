import { WrapperError } from '../../../errors.ts';

/**
 * An error of code `Malformed`.
 *
 * @param what the problem
 * @param offset byte offset in the body, the stream or the object that was read
 */
export function malformed(what: string, offset: number, cause?: unknown): WrapperError {
  const options = cause === undefined ? { offset } : { offset, cause };
  return new WrapperError('Malformed', `${what} at offset ${offset}`, options);
}

/** The error for an object or a watch event of more bytes than the limit. */
export function objectTooLarge(what: string, maxBytes: number): WrapperError {
  return new WrapperError('TooLarge', `${what}; an object may have ${maxBytes} bytes`);
}

/** The error for a collection of too many objects. Each costs memory beside its bytes, so their size is no bound. */
export function tooManyObjects(maxObjects: number): WrapperError {
  return new WrapperError(
    'TooLarge',
    `there are more than ${maxObjects} objects, the limit of a collection`,
  );
}
