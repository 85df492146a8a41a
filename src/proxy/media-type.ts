import { WrapperError } from '../errors.ts';
import type { Encoding } from '../filter/codec.ts';

/** No plain object: what callers write is looked up in it, and `constructor` is in each of these. */
const ENCODINGS: ReadonlyMap<string, Encoding> = new Map([
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
  ['application/json', 'json'],
  ['application/*', 'json'],
  ['*/*', 'json'],
]);

/** Content-Type of a single body in an encoding. */
export const MEDIA_TYPES: Readonly<Record<Encoding, string>> = {
  json: 'application/json',
  protobuf: 'application/vnd.kubernetes.protobuf',
};

/** Content-Type of a watch stream in an encoding. */
export const STREAM_MEDIA_TYPES: Readonly<Record<Encoding, string>> = {
  json: 'application/json',
  protobuf: 'application/vnd.kubernetes.protobuf;stream=watch',
};

/**
 * The encoding to answer in: the first media type of the Accept header, by quality, that this proxy serves.
 * Parameters that would change the object, such as `as=Table`, are not served: whoever offers plain JSON as well can
 * read that. Not so who asks for metadata, for its watches understand nothing else. Throws `NotAcceptable`.
 */
export function negotiate(accept: string | undefined): Encoding {
  if (accept === undefined || accept.trim() === '') return 'json';
  for (const { type, quality, plain, metadata } of offersOf(accept)) {
    if (metadata) break;
    const encoding = ENCODINGS.get(type);
    if (encoding !== undefined && quality > 0 && plain) return encoding;
  }
  throw new WrapperError(
    'NotAcceptable',
    `none of the media types in "Accept: ${accept.slice(0, 200)}" can be served; ask for ` +
      'application/json or application/vnd.kubernetes.protobuf',
  );
}

/** Whether names and labels are asked for, no more (PartialObjectMetadata), before anything that could be served. */
export function asksForMetadata(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const first = offersOf(accept).find(({ plain, metadata }) => plain || metadata);
  return first?.metadata === true;
}

/** The encoding to write an error in: what the caller asks for if it can be served, else JSON. */
export function statusEncoding(accept: string | undefined): Encoding {
  try {
    return negotiate(accept);
  } catch {
    // That the header cannot be served is told by whoever negotiates the answer itself.
    return 'json';
  }
}

interface Offer {
  readonly type: string;
  readonly quality: number;
  /** No parameter but the quality and those that say nothing new. */
  readonly plain: boolean;
  readonly metadata: boolean;
}

/** By quality, and else as they come. */
function offersOf(accept: string): Offer[] {
  const offers = accept.split(',').map(parseOffer);
  return offers.sort((a, b) => b.quality - a.quality);
}

function parseOffer(text: string): Offer {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  let quality = 1;
  let plain = true;
  const metadata = parameters.some((parameter) => parameter.startsWith('as=partialobjectmetadata'));
  for (const parameter of parameters) {
    if (parameter.startsWith('q=')) quality = Number(parameter.slice(2)) || 0;
    else if (parameter !== 'stream=watch' && !parameter.startsWith('charset=')) plain = false;
  }
  return { type, quality, plain, metadata };
}
