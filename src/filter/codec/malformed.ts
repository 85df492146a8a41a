import { WrapperError } from '../../errors.ts';

/**
 * An error of code `Malformed` that names what is wrong and where.
 *
 * @param offset byte offset in the body, the stream or the object that was being read
 */
export function malformed(what: string, offset: number, cause?: unknown): WrapperError {
  const options = cause === undefined ? { offset } : { offset, cause };
  return new WrapperError('Malformed', `${what} at offset ${offset}`, options);
}

/** The error for a list of more objects than are taken. Each costs much more than its bytes, which may be few. */
export function tooManyItems(maxItems: number): WrapperError {
  return new WrapperError('TooLarge', `a list of more than maxObjects=${maxItems} objects`);
}
