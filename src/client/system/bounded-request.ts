import { Client } from 'undici';
import { addressText } from '../../util/address.ts';
import { abortable } from '../../util/linked-abort-controller.ts';

/** Default of the limit of a response. */
const MAX_RESPONSE_BYTES = 256 * 1024;

export interface BoundedResponse {
  /** 0: there is no usable response. */
  readonly status: number;
  readonly body: Buffer;
}

const NO_RESPONSE: BoundedResponse = { status: 0, body: Buffer.alloc(0) };
const PROTOBUF = { accept: 'application/vnd.kubernetes.protobuf' };

/**
 * Sends a request to a process of this machine, on a connection of its own. Any process can listen there, so the
 * response is limited in bytes, and by the signal in time. Never rejects: without a usable response the status is 0.
 */
export async function boundedRequest(options: {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** Default: GET. */
  readonly method?: string;
  /** Bytes of the response; default 256 KiB. */
  readonly maxBytes?: number;
  readonly signal: AbortSignal;
}): Promise<BoundedResponse> {
  const { host, port, path, method = 'GET', maxBytes = MAX_RESPONSE_BYTES, signal } = options;
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const origin = `http://${addressText({ host: name, port })}`;
  const client = new Client(origin, { maxResponseSize: maxBytes });
  const read = async (): Promise<BoundedResponse> => {
    const { statusCode, body } = await client.request({ path, method, headers: PROTOBUF, signal });
    return { status: statusCode, body: Buffer.from(await body.arrayBuffer()) };
  };
  try {
    return await abortable(read(), signal);
  } catch {
    return NO_RESPONSE;
  } finally {
    await client.destroy();
  }
}
