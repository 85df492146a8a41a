import { WrapperError } from '../../errors.ts';
import type { Encoding } from '../../filter/codec/codec.ts';

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

/** The two forms in which metadata alone is answered: of a list, and of one object or a watch. */
export type MetadataKind = 'PartialObjectMetadata' | 'PartialObjectMetadataList';

/**
 * The encoding to answer in: the first media type of the Accept header, by quality, that this proxy serves.
 * Parameters that would change the object, such as `as=Table`, are not served: a client that offers plain JSON as
 * well can read that. A client that asks for metadata first gets no view, because its watches understand
 * nothing else. Throws `NotAcceptable`.
 */
export function negotiate(accept: string | undefined): Encoding {
  if (accept === undefined || accept.trim() === '') return 'json';
  for (const { encoding, quality, form } of clausesOf(accept)) {
    if (form !== 'plain' && form !== undefined) break;
    if (encoding !== undefined && quality > 0 && form === 'plain') return encoding;
  }
  throw new WrapperError(
    'NotAcceptable',
    `none of the media types in "Accept: ${accept.slice(0, 200)}" can be served; ask for ` +
      'application/json or application/vnd.kubernetes.protobuf',
  );
}

/**
 * The Accept header to send to the API server for a request that asks for metadata alone; undefined for one that
 * does not. It has the clauses of this kind that come before any that a view can answer, and nothing of the
 * caller's own text: an API server skips a clause that it does not know, and answers the next one with whole objects
 * (apiserver endpoints/handlers/negotiation). Whole objects are also what it sends on a watch of the kind for
 * lists (watchEmbeddedEncoder), so the kind has to fit the verb.
 */
export function metadataAccept(accept: string | undefined, kind: MetadataKind): string | undefined {
  const sent = new Set<string>();
  for (const { encoding, quality, form } of clausesOf(accept ?? '')) {
    if (form === 'plain') break;
    if (encoding === undefined || quality <= 0 || form !== kind) continue;
    sent.add(`${MEDIA_TYPES[encoding]};as=${kind};g=meta.k8s.io;v=v1`);
  }
  return sent.size === 0 ? undefined : [...sent].join(',');
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

interface Clause {
  /** Undefined: of a media type that is not served. */
  readonly encoding: Encoding | undefined;
  readonly quality: number;
  /** What is to be written in that encoding; undefined: something that is not known here. */
  readonly form: 'plain' | MetadataKind | undefined;
}

/** By quality, and else as they come. */
function clausesOf(accept: string): Clause[] {
  const clauses = accept.split(',').map(parseClause);
  return clauses.sort((a, b) => b.quality - a.quality);
}

function parseClause(text: string): Clause {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim());
  let quality = 1;
  const others: string[] = [];
  for (const parameter of parameters) {
    if (/^q=/i.test(parameter)) quality = Number(parameter.slice(2)) || 0;
    // These two say nothing new.
    else if (!/^(stream=watch$|charset=)/i.test(parameter)) others.push(parameter);
  }
  return { encoding: ENCODINGS.get(type.toLowerCase()), quality, form: formOf(others) };
}

/** An API server compares parameters letter by letter; what is spelt otherwise is something else to it. */
function formOf(parameters: readonly string[]): Clause['form'] {
  if (parameters.length === 0) return 'plain';
  const [as, group, version, ...others] = [...parameters].sort();
  if (group !== 'g=meta.k8s.io' || version !== 'v=v1' || others.length > 0) return undefined;
  if (as === 'as=PartialObjectMetadata') return 'PartialObjectMetadata';
  if (as === 'as=PartialObjectMetadataList') return 'PartialObjectMetadataList';
  return undefined;
}
