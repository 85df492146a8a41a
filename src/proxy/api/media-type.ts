import { WrapperError } from '../../errors.ts';
import type { Encoding } from '../../filter/codec/codec.ts';

/** A Map, not an object: the keys to look up come from callers, and every object has `constructor`. */
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

/** The kinds of responses with metadata only: for one object or a watch, and for a list. */
export type MetadataKind = 'PartialObjectMetadata' | 'PartialObjectMetadataList';

/**
 * The encoding of the response: the first media type of the Accept header, by quality, that we serve. Parameters that
 * change the object, such as `as=Table`, are not served: a client that also offers plain JSON gets that. A client that
 * prefers metadata only gets no view, because it could not parse the events of a view. Throws `NotAcceptable`.
 */
export function negotiate(accept: string | undefined): Encoding {
  if (accept === undefined || accept.trim() === '') return 'json';
  for (const { encoding, quality, form } of clausesOf(accept)) {
    if (form !== 'plain' && form !== undefined) break;
    if (encoding !== undefined && quality > 0 && form === 'plain') return encoding;
  }
  throw new WrapperError(
    'NotAcceptable',
    `none of the media types in "Accept: ${accept.slice(0, 200)}" can be served; accept ` +
      'application/json or application/vnd.kubernetes.protobuf',
  );
}

/**
 * The Accept header for a request that asks for metadata only, for the API server; undefined for any other request. It
 * has the clauses of this kind that come before any that a view can answer. It contains no text of the caller: an API
 * server skips a clause that it does not understand, and would answer the next one with whole objects (apiserver
 * endpoints/handlers/negotiation). On a watch it also sends whole objects if the kind is that of lists
 * (watchEmbeddedEncoder), so the kind must match the verb.
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

/** The encoding of an error: the requested one if it is supported, else JSON. */
export function statusEncoding(accept: string | undefined): Encoding {
  try {
    return negotiate(accept);
  } catch {
    // Not an error here: negotiate() reports it when the response itself is negotiated.
    return 'json';
  }
}

interface Clause {
  /** Undefined: a media type that is not served. */
  readonly encoding: Encoding | undefined;
  readonly quality: number;
  /** What the client wants in that encoding; undefined: a form that we do not know. */
  readonly form: 'plain' | MetadataKind | undefined;
}

/** Sorted by quality; clauses of the same quality keep their order. */
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
    // These two parameters do not change the object.
    else if (!/^(stream=watch$|charset=)/i.test(parameter)) others.push(parameter);
  }
  return { encoding: ENCODINGS.get(type.toLowerCase()), quality, form: formOf(others) };
}

/** Compares exactly, as an API server does: to it, another spelling is another parameter. */
function formOf(parameters: readonly string[]): Clause['form'] {
  if (parameters.length === 0) return 'plain';
  const [as, group, version, ...others] = [...parameters].sort();
  if (group !== 'g=meta.k8s.io' || version !== 'v=v1' || others.length > 0) return undefined;
  if (as === 'as=PartialObjectMetadata') return 'PartialObjectMetadata';
  if (as === 'as=PartialObjectMetadataList') return 'PartialObjectMetadataList';
  return undefined;
}
