import { type Status, WrapperError } from '../../errors.ts';
import type { Codec, RawList } from '../../filter/codec/codec.ts';
import { decodeStatus as decodeJsonStatus } from '../../filter/codec/json/decode.ts';
import { type Query, queryPath } from '../api/query.ts';
import { type ExpectedResponse, judgeResponse, mediaType } from '../upstream/judge-response.ts';
import { readBody, type Upstream, type UpstreamResponse } from '../upstream/upstream.ts';

const MAX_STATUS_BYTES = 1024 * 1024;

const MEDIA_TYPES = {
  json: 'application/json',
  protobuf: 'application/vnd.kubernetes.protobuf',
} as const;

export interface CollectionRequesterOptions {
  readonly upstream: Pick<Upstream, 'request'>;
  readonly codec: Codec;
  /** Request PartialObjectMetadata. */
  readonly metadataOnly: boolean;
}

/** Sends lists and watches in one encoding. What something else than an API server has answered is no answer. */
export class CollectionRequester {
  readonly #options: CollectionRequesterOptions;

  constructor(options: CollectionRequesterOptions) {
    this.#options = options;
  }

  /**
   * Resolves with a response of 200 in the encoding, whose body is to be judged; see {@link assertList}. Throws
   * `Refused` with the Status of the API server. Throws `Unreachable` if something else has answered; with a Status if
   * that may also mean that the API server does not have the collection.
   *
   * @param onArrival called when the answer is 200, in whichever of the encodings
   */
  async get(
    query: Query,
    parameters: URLSearchParams,
    signal: AbortSignal,
    onArrival: () => void = () => {},
  ): Promise<UpstreamResponse> {
    const isWatch = parameters.has('watch');
    const path = queryPath(query, parameters);
    const headers: Record<string, string> = { accept: this.#accept(isWatch) };
    if (!isWatch) headers['accept-encoding'] = 'gzip';
    const { upstream } = this.#options;
    const response = await upstream.request({ method: 'GET', path, headers, signal });
    const expected = this.#expected(query);
    if (response.statusCode === 200) {
      const type = mediaType(response.headers);
      if (Object.values<string>(MEDIA_TYPES).includes(type)) onArrival();
      if (type === expected.type) return response;
    }
    const status = await this.#readStatus(response);
    const judgement = judgeResponse({ ...response, status }, expected);
    response.judged(judgement);
    if (judgement === 'foreign') throw foreign(query, response);
    throw refusal(path, response, status, judgement === 'absent');
  }

  /**
   * Judges a response of 200 by what its body holds. Returns the list, and throws `Unreachable` unless the API server
   * has sent it.
   *
   * @param found an error: the body is not a list
   */
  assertList(query: Query, response: UpstreamResponse, found: RawList | WrapperError): RawList {
    const isList = !(found instanceof WrapperError);
    // An API server sends no list without a version.
    const isVersioned = isList && found.resourceVersion !== '';
    const kind = isVersioned ? found.kind : undefined;
    const { statusCode, headers } = response;
    const judgement = judgeResponse({ statusCode, headers, kind }, this.#expected(query));
    response.judged(judgement);
    if (isList && judgement === 'usable') return found;
    const version = isVersioned ? '' : ' without a resourceVersion';
    throw foreign(query, response, isList ? `a ${found.kind}${version}` : found.message);
  }

  #expected({ resource }: Query): ExpectedResponse {
    const { codec, metadataOnly } = this.#options;
    return {
      type: MEDIA_TYPES[codec.encoding],
      kind: metadataOnly ? 'PartialObjectMetadataList' : `${resource.kind}List`,
      group: resource.group,
    };
  }

  #accept(isWatch: boolean): string {
    const { codec, metadataOnly } = this.#options;
    const type = MEDIA_TYPES[codec.encoding];
    if (!metadataOnly) return type;
    return `${type};as=PartialObjectMetadata${isWatch ? '' : 'List'};g=meta.k8s.io;v=v1`;
  }

  /**
   * The Status of a refusal. Its type does not matter: if only metadata is requested, the API server writes its errors in
   * JSON (WriteObjectNegotiated), and a timeout is JSON without a type (timeout.go in apiserver server/filters).
   */
  async #readStatus({ statusCode, headers, body }: UpstreamResponse): Promise<Status | undefined> {
    if (statusCode < 400 || mediaType(headers) === 'text/html') {
      body.destroy();
      return undefined;
    }
    try {
      const bytes = await readBody(body, MAX_STATUS_BYTES, headers);
      return decodeJsonStatus(bytes) ?? this.#options.codec.decodeStatus(bytes);
    } catch (error) {
      const { code } = WrapperError.from(error, 'Unreachable');
      if (code === 'TooLarge' || code === 'Malformed') return undefined;
      throw error;
    }
  }
}

/** @param isAbsent the collection may be absent, or something else has answered: the caller finds out */
function refusal(
  path: string,
  { statusCode, headers }: UpstreamResponse,
  found: Status | undefined,
  isAbsent: boolean,
): WrapperError {
  const header = Number(headers['retry-after']);
  const retryAfterSeconds = header > 0 ? header : found?.retryAfterSeconds;
  const status: Status = {
    code: statusCode,
    reason: found?.reason ?? '',
    message: found?.message ?? `HTTP ${statusCode}`,
    ...(found?.causes === undefined ? {} : { causes: found.causes }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
  const message = `the API server refused GET ${path}: ${status.code} ${status.message}`;
  return new WrapperError(isAbsent ? 'Unreachable' : 'Refused', message, { status });
}

function foreign(query: Query, { statusCode, headers }: UpstreamResponse, body = ''): WrapperError {
  const type = String(headers['content-type'] ?? '');
  const detail = body === '' ? '' : ` (${body})`;
  return new WrapperError(
    'Unreachable',
    `GET ${queryPath(query)} was answered with ${statusCode} and "${type}"${detail}, which is not of a Kubernetes API server: a captive portal, a proxy or another service is in its place`,
  );
}
