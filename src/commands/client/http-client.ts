import type { buildConnector } from 'undici';
import request from 'undici/lib/api/api-request.js';
import Client from 'undici/lib/dispatcher/client.js';

/** Sends GET requests to one server, one after the other on one connection, limited in time and bytes. */
export interface HttpClient {
  /** Rejects if there is no complete response in time, or if it is too large. */
  get(path: string): Promise<HttpResponse>;
  close(): Promise<void>;
}

export interface HttpResponse {
  readonly statusCode: number;
  readonly text: string;
}

export interface HttpClientOptions {
  /** Opens the connection; default: TCP to the URL. */
  readonly connect?: buildConnector.connector;
  /** Time for a whole response, in milliseconds. */
  readonly timeoutMs: number;
  /** Bytes of a response; default 64 MiB. */
  readonly maxBytes?: number;
}

const MAX_BYTES = 64 * 1024 * 1024;

/** Creates a client. It connects when a request is sent. */
export function createHttpClient(
  url: string,
  { connect, timeoutMs, maxBytes = MAX_BYTES }: HttpClientOptions,
): HttpClient {
  const client = new Client(url, { connect });
  return {
    async get(path) {
      const signal = AbortSignal.timeout(timeoutMs);
      const { statusCode, body } = await request.call(client, { path, method: 'GET', signal });
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of body as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > maxBytes) throw new Error(`the response has more than ${maxBytes} bytes`);
        chunks.push(chunk);
      }
      return { statusCode, text: Buffer.concat(chunks).toString('utf8') };
    },
    close: () => client.destroy(),
  };
}
