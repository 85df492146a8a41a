import { get } from 'node:http';
import type { Query } from '../proxy/api/query.ts';
import { parseQueries } from '../proxy/api/query-json.ts';
import { addressText } from '../proxy/util/address.ts';
import { abortable } from '../proxy/util/linked-abort-controller.ts';

/** The whole answer has to arrive within this time, in milliseconds. */
const ANSWER_MS = 2_000;
const MAX_BYTES = 256 * 1024;

/**
 * Asks the process that listens at the admin address now, if any, which views it has, so that this one can open
 * them before it listens. Undefined: there is no usable answer.
 *
 * Any local process can listen there while the wrapper is away. So the answer is bounded in time, bytes and number,
 * and it decides only which views are opened early. Never rejects.
 */
export async function askRunningProcess(
  { host, port }: { readonly host: string; readonly port: number },
  nodeName: string,
): Promise<Query[] | undefined> {
  if (port === 0) return undefined;
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const url = `http://${addressText({ host: name, port })}/views`;
  const signal = AbortSignal.timeout(ANSWER_MS);
  // Where nobody answers in time, the views are opened that kube-proxy reads.
  const text = await abortable(read(url, signal), signal).catch(() => '');
  const queries = parseQueries(text, nodeName);
  return queries.length === 0 ? undefined : queries;
}

/** Rejects when the answer is not within the bounds. */
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
