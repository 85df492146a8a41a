import { request as send } from 'node:http';
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
  const url = `http://${addressText({ host: name, port })}${path}`;
  return await abortable(read(url, method, maxBytes, signal), signal).catch(() => NO_RESPONSE);
}

/** Rejects if the response exceeds the limits. */
function read(
  url: string,
  method: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<BoundedResponse> {
  return new Promise((resolve, reject) => {
    const options = { method, agent: false, signal, headers: PROTOBUF };
    const request = send(url, options, async (response) => {
      try {
        const chunks: Buffer[] = [];
        let bytes = 0;
        for await (const chunk of response as AsyncIterable<Buffer>) {
          bytes += chunk.length;
          if (bytes > maxBytes) throw new Error(`more than ${maxBytes} bytes`);
          chunks.push(chunk);
        }
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) });
      } catch (error) {
        request.destroy();
        reject(error);
      }
    });
    request.on('error', reject);
    request.end();
  });
}
