import { WrapperError } from '../../errors.ts';
import type { Codec } from '../../filter/codec/codec.ts';
import { decodeStatus as decodeJsonStatus } from '../../filter/codec/json/decode.ts';
import { type Query, queryPath } from '../api/query.ts';
import { readBody, type Upstream, type UpstreamResponse } from '../upstream/upstream.ts';
import { isForeignResponse } from '../upstream/usable-response.ts';

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

/** Sends lists and watches in one encoding and accepts only 200 in that encoding. */
export class CollectionRequester {
  readonly #options: CollectionRequesterOptions;

  constructor(options: CollectionRequesterOptions) {
    this.#options = options;
  }

  /**
   * Throws `Refused` with the Status, `Malformed` for another encoding, or `Unreachable`, also if something else than an
   * API server has answered.
   *
   * @param onArrival called when the answer is 200, whatever its encoding
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
    this.#assertFromApiServer(path, response);
    if (response.statusCode !== 200) throw await this.#refusal(path, response);
    onArrival();
    this.#assertEncoding(path, response);
    return response;
  }

  #accept(isWatch: boolean): string {
    const { codec, metadataOnly } = this.#options;
    const type = MEDIA_TYPES[codec.encoding];
    if (!metadataOnly) return type;
    return `${type};as=PartialObjectMetadata${isWatch ? '' : 'List'};g=meta.k8s.io;v=v1`;
  }

  async #refusal(path: string, response: UpstreamResponse): Promise<WrapperError> {
    const body = await readBody(response.body, MAX_STATUS_BYTES, response.headers);
    // If only metadata is requested, the API server writes its errors in JSON (WriteObjectNegotiated).
    const isJson = String(response.headers['content-type']).startsWith(MEDIA_TYPES.json);
    const decoded = isJson ? decodeJsonStatus(body) : this.#options.codec.decodeStatus(body);
    const header = Number(response.headers['retry-after']);
    const retryAfterSeconds = header > 0 ? header : decoded?.retryAfterSeconds;
    const status = {
      code: response.statusCode,
      reason: decoded?.reason ?? '',
      message: decoded?.message ?? `HTTP ${response.statusCode}`,
      ...(decoded?.causes === undefined ? {} : { causes: decoded.causes }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    };
    const message = `the API server refused GET ${path}: ${status.code} ${status.message}`;
    return new WrapperError('Refused', message, { status });
  }

  /** Without this, a captive portal would count as an API server that sends bytes that do not parse. */
  #assertFromApiServer(path: string, { statusCode, headers, body }: UpstreamResponse): void {
    if (!isForeignResponse(statusCode, headers)) return;
    body.destroy();
    const type = String(headers['content-type'] ?? '');
    throw new WrapperError(
      'Unreachable',
      `GET ${path} was answered with ${statusCode} and "${type}", which is not of a Kubernetes API server: a captive portal, a proxy or another service is in its place`,
    );
  }

  #assertEncoding(path: string, response: UpstreamResponse): void {
    const type = String(response.headers['content-type'] ?? '');
    const { encoding } = this.#options.codec;
    if (type.split(';')[0]?.trim() === MEDIA_TYPES[encoding]) return;
    throw new WrapperError('Malformed', `GET ${path} was answered as "${type}", not ${encoding}`);
  }
}
