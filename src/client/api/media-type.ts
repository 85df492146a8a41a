import { WrapperError } from '../../errors.ts';
import type { Encoding } from '../../filter/codec/codec.ts';
import type { Query } from './query.ts';

/** A Map, not an object: the keys to look up come from callers, and every object has `constructor`. */
const ENCODINGS: ReadonlyMap<string, Encoding> = new Map([
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
  ['application/json', 'json'],
  ['application/*', 'json'],
  ['*/*', 'json'],
  ['*', 'json'],
]);

/**
 * An API server answers only if one of these is in the Accept header, with any parameters (go-restful, matchesAccept):
 * not to `application/*` alone.
 */
const ROUTED: readonly string[] = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  '*/*',
];

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
 * The encoding of the response: the first media type of the Accept header that we serve, in the order of an API server.
 * Parameters that change the object, such as `as=Table`, are not served: a client that also offers plain JSON gets
 * that. A client that prefers metadata only gets no view, because it could not parse the events of a view. Throws
 * `NotAcceptable`.
 */
export function negotiate(accept: string | undefined): Encoding {
  if (accept === undefined || accept.trim() === '') return 'json';
  for (const { encoding, form } of clausesOf(accept)) {
    if (form !== 'plain' && form !== undefined) break;
    if (encoding !== undefined && form === 'plain') return encoding;
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
  for (const { encoding, form } of clausesOf(accept ?? '')) {
    if (form === 'plain') break;
    if (encoding === undefined || form !== kind) continue;
    sent.add(`${MEDIA_TYPES[encoding]};as=${kind};g=meta.k8s.io;v=v1`);
  }
  return sent.size === 0 ? undefined : [...sent].join(',');
}

/** Whether a client can read this encoding, in whichever form. */
export function accepts(accept: string | undefined, encoding: Encoding): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  const clauses = clausesOf(accept);
  // An API server does not exclude a quality of 0: it counts if nothing else is offered.
  const [first] = clauses;
  if (first?.encoding === encoding) return true;
  return clauses.some((each) => each.encoding === encoding && each.quality > 0);
}

/**
 * The Accept header of our own requests. Caches of edge platforms have JSON only, so it is always accepted; whole
 * objects too, where they cannot cut metadata out.
 */
export function acceptOf(
  { encoding, metadataOnly }: Pick<Query, 'encoding' | 'metadataOnly'>,
  isWatch: boolean,
): string {
  const { json, protobuf } = MEDIA_TYPES;
  if (metadataOnly !== true) return encoding === 'json' ? json : `${protobuf}, ${json};q=0.9`;
  const form = `;as=PartialObjectMetadata${isWatch ? '' : 'List'};g=meta.k8s.io;v=v1`;
  const partial = `${json}${form};q=0.9, ${json};q=0.8`;
  return encoding === 'json' ? partial : `${protobuf}${form}, ${partial}`;
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
  /** In lower case, without parameters. */
  readonly type: string;
  /** Undefined: a media type that is not served. */
  readonly encoding: Encoding | undefined;
  readonly quality: number;
  /** What the client wants in that encoding; undefined: a form that we do not serve. */
  readonly form: 'plain' | MetadataKind | undefined;
}

/** The others are ignored, because the time to sort grows with the square. */
const MAX_CLAUSES = 64;

/** The clauses in the order in which an API server tries them; none if it refuses the header as a whole. */
function clausesOf(accept: string): readonly Clause[] {
  const clauses = accept.split(',', MAX_CLAUSES).map(parseClause);
  return clauses.some(({ type }) => ROUTED.includes(type)) ? sorted(clauses) : [];
}

/**
 * Sorts as munnerz/goautoneg, with Go's insertion sort: {@link isBefore} contradicts itself, so another algorithm has
 * another result.
 */
function sorted(clauses: readonly Clause[]): readonly Clause[] {
  const result: Clause[] = [];
  for (const clause of clauses) {
    const last = result.findLastIndex((earlier) => !isBefore(clause, earlier));
    result.splice(last + 1, 0, clause);
  }
  return result;
}

function isBefore(a: Clause, b: Clause): boolean {
  if (a.quality > b.quality) return true;
  if (!a.type.startsWith('*') && b.type.startsWith('*')) return true;
  return !a.type.endsWith('*') && b.type.endsWith('*');
}

function parseClause(text: string): Clause {
  const [name = '', ...rest] = text.trim().split(';');
  // Of a name that is given twice the last value counts. What is not `name=value` is ignored, except a `=` at its end.
  const parameters = new Map<string, string>();
  for (const parameter of rest) {
    const [, key = '', value = ''] = /^([^=]*)=([^=]+)=?$/.exec(parameter) ?? [];
    if (value !== '') parameters.set(key.trim(), value.trim());
  }
  const type = name.trim().toLowerCase();
  const quality = Number(parameters.get('q') ?? 1) || 0;
  return { type, encoding: ENCODINGS.get(type), quality, form: formOf(parameters) };
}

/**
 * What parameters ask for. An API server ignores all but these (apiserver endpoints/handlers/negotiation,
 * acceptMediaTypeOptions), and compares exactly: to it, another spelling is another parameter.
 */
function formOf(parameters: ReadonlyMap<string, string>): Clause['form'] {
  const has = (name: string, value: string): boolean => (parameters.get(name) ?? value) === value;
  if (!has('stream', 'watch') || !has('sv', 'v1')) return undefined;
  const [kind, group, version] = ['as', 'g', 'v'].map((name) => parameters.get(name));
  if (kind === undefined && group === undefined && version === undefined) return 'plain';
  if (group !== 'meta.k8s.io' || version !== 'v1') return undefined;
  if (kind === 'PartialObjectMetadata' || kind === 'PartialObjectMetadataList') return kind;
  return undefined;
}
