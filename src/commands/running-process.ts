import { get } from 'node:http';
import type { Query } from '../proxy/api/query.ts';
import { parseQueries } from '../proxy/api/query-json.ts';
import { addressText } from '../proxy/util/address.ts';
import { abortable } from '../proxy/util/linked-abort-controller.ts';

/** Time for the whole response to arrive, in milliseconds. */
const RESPONSE_MS = 2_000;
const MAX_BYTES = 256 * 1024;

/**
 * Reads the views of the process that already listens at the admin address, so that this process can open the same
 * views before it listens. Undefined: there is no usable response.
 *
 * Any local process can listen there while no wrapper runs. Therefore the response is limited in time, bytes and
 * number of views, and it only decides which views are opened early. Never rejects.
 */
export async function readRunningProcess(
  { host, port }: { readonly host: string; readonly port: number },
  nodeName: string,
): Promise<Query[] | undefined> {
  if (port === 0) return undefined;
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const url = `http://${addressText({ host: name, port })}/views`;
  const signal = AbortSignal.timeout(RESPONSE_MS);
  // Without a response the caller opens the views that kube-proxy reads.
  const text = await abortable(read(url, signal), signal).catch(() => '');
  const queries = parseQueries(text, nodeName);
  return queries.length === 0 ? undefined : queries;
}

/** Rejects if the response exceeds the limits. */
function read(url: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, signal }, async (response) => {
      try {
        if (response.statusCode !== 200) throw new Error(`HTTP ${response.statusCode}`);
        const chunks: Buffer[] = [];
        let bytes = 0;
        for await (const chunk of response as AsyncIterable<Buffer>) {
          bytes += chunk.length;
          if (bytes > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
          chunks.push(chunk);
        }
        resolve(Buffer.concat(chunks).toString());
      } catch (error) {
        request.destroy();
        reject(error);
      }
    });
    request.on('error', reject);
  });
}
