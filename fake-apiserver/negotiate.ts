import { failure, type StatusError } from './kube-status.ts';
import type { Format } from './wire.ts';

/** Media type of each encoding, in the server's order of preference. */
const MEDIA_TYPES = {
  'application/json': 'json',
  'application/vnd.kubernetes.protobuf': 'protobuf',
} as const;

/** What a request reads: one object, a list or a watch. Metadata-only responses have a type for each. */
export type AnswerShape = 'object' | 'list' | 'watch';

/**
 * Chooses the format of a response as apiserver/pkg/endpoints/handlers/negotiation does: the first clause of the Accept
 * header, by quality, that the server supports; JSON without a header. A clause with an unknown `as=` is skipped.
 * Throws a 406 StatusError if no clause is supported.
 */
export function negotiate(accept: string | undefined, shape: AnswerShape): Format {
  const clauses = parseAccept(accept ?? '');
  if (clauses.length === 0) return { encoding: 'json', metadataOnly: false };
  for (const { type, parameters } of clauses) {
    const encoding = encodingOf(type);
    const as = parameters.get('as');
    if (encoding === undefined || !isKnownStream(parameters)) continue;
    if (as === undefined) return { encoding, metadataOnly: false };
    if (!as.startsWith('PartialObjectMetadata') || parameters.get('g') !== 'meta.k8s.io') continue;
    if (parameters.get('v') !== 'v1') continue;
    const wanted = shape === 'list' ? 'PartialObjectMetadataList' : 'PartialObjectMetadata';
    if (as === wanted) return { encoding, metadataOnly: true };
    throw notAcceptable(`you requested ${as}, but the requested object is ${ARTICLE[shape]}`);
  }
  throw notAcceptable(
    `only the following media types are accepted: ${Object.keys(MEDIA_TYPES).join(', ')}`,
  );
}

const ARTICLE: Readonly<Record<AnswerShape, string>> = {
  object: 'not a list (meta.k8s.io)',
  list: 'a list (meta.k8s.io)',
  watch: 'not a list (meta.k8s.io)',
};

/** The encoding of a Status. Every client gets one: JSON if no clause of the Accept header is supported. */
export function statusEncoding(accept: string | undefined): Format['encoding'] {
  for (const { type } of parseAccept(accept ?? '')) {
    const encoding = encodingOf(type);
    if (encoding !== undefined) return encoding;
  }
  return 'json';
}

/** `Content-Type` of an answer. */
export function contentType(encoding: Format['encoding'], shape: AnswerShape): string {
  if (encoding === 'json') return 'application/json';
  return `application/vnd.kubernetes.protobuf${shape === 'watch' ? ';stream=watch' : ''}`;
}

interface Clause {
  readonly type: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
}

function parseAccept(header: string): Clause[] {
  return header
    .split(',')
    .map((clause) => clause.trim())
    .filter((clause) => clause !== '')
    .map(parseClause)
    .filter(({ quality }) => quality > 0)
    .sort((one, other) => other.quality - one.quality); // stable: clauses of equal quality keep the client's order
}

function parseClause(clause: string): Clause {
  const [type = '', ...rest] = clause.split(';').map((part) => part.trim());
  const parameters = new Map<string, string>();
  for (const part of rest) {
    const [key = '', value = ''] = part.split('=', 2);
    parameters.set(key.trim().toLowerCase(), value.trim());
  }
  const quality = Number(parameters.get('q') ?? '1');
  return { type: type.toLowerCase(), quality: Number.isNaN(quality) ? 1 : quality, parameters };
}

function encodingOf(type: string): Format['encoding'] | undefined {
  if (type === '*/*' || type === 'application/*') return 'json';
  return Object.entries(MEDIA_TYPES).find(([name]) => name === type)?.[1];
}

function isKnownStream(parameters: ReadonlyMap<string, string>): boolean {
  const stream = parameters.get('stream') ?? '';
  return stream === '' || stream === 'watch';
}

function notAcceptable(message: string): StatusError {
  return failure(406, 'NotAcceptable', message, {});
}
