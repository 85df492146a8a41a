import { WrapperError } from '../../../errors.ts';
import type { ObjectMeta } from '../../objects/object-facts.ts';

/**
 * Maximum number of endpoints, addresses, subsets and ports of one object. An empty one is two bytes and takes more
 * than 100 in memory, so the size of an object is no bound. The API server allows 1,000 endpoints in a slice. In an
 * Endpoints object it allows what etcd takes: 1.5 MiB, in which addresses of at least 6 bytes are at most 262,144.
 */
export const MAX_ELEMENTS = 300_000;

/**
 * Maximum number of commas of one object in JSON, counted before it is parsed. Values that etcd takes have fewer than
 * 500,000, and annotations may have 262,144.
 */
export const MAX_JSON_COMMAS = 1_000_000;

/** The error for an object with more elements than the limit. */
export function tooManyElements({ namespace, name }: ObjectMeta): WrapperError {
  const what = `the object ${JSON.stringify(`${namespace}/${name}`)} has more than ${MAX_ELEMENTS} endpoints and ports`;
  return new WrapperError('TooLarge', what);
}
