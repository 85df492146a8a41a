import { WrapperError } from '../../errors.ts';

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

/** The error for a watch event of more bytes than the limit. */
export function frameTooLarge(bytes: string, offset: number, limit: number): WrapperError {
  const what = `watch event of ${bytes} bytes at offset ${offset}`;
  return new WrapperError('TooLarge', `${what}, more than maxObjectBytes=${limit}`);
}

/** The error for a list of too many objects. Each object costs memory beside its bytes, so the size is no bound. */
export function tooManyItems(maxItems: number): WrapperError {
  return new WrapperError('TooLarge', `a list of more than maxObjects=${maxItems} objects`);
}
