import { request as send } from 'node:http';
import type { Query } from '../proxy/api/query.ts';
import { parseQueries } from '../proxy/api/query-json.ts';
import { addressText } from '../proxy/util/address.ts';
import { abortable } from '../proxy/util/linked-abort-controller.ts';

/** Time for the whole response to arrive, in milliseconds. */
const RESPONSE_MS = 2_000;
/** Time for a flush of the snapshots, in milliseconds. */
const FLUSH_MS = 3_000;
const MAX_BYTES = 256 * 1024;

interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Reads the views of the process that already listens at the admin address, so that this process can open the same
 * views before it listens. Undefined: there is no usable response.
 *
 * Any local process can listen there while no wrapper runs. Therefore the response is limited in time, bytes and
 * number of views, and it only decides which views are opened early. Never rejects.
 */
export async function readRunningProcess(
  { host, port }: Address,
  nodeName: string,
): Promise<Query[] | undefined> {
  if (port === 0) return undefined;
  // Without a response the caller opens the views that kube-proxy reads.
  const text = await request('GET', { host, port, path: '/views', ms: RESPONSE_MS }).catch(
    () => '',
  );
  const queries = parseQueries(text, nodeName);
  return queries.length === 0 ? undefined : queries;
}

/**
 * Makes the process that listens at the admin address write its newest snapshots. Resolves when it has, when there is
 * none, or after some seconds. Never rejects: the snapshots on disk are then used as they are.
 */
export async function flushRunningProcess(address: Address): Promise<void> {
  if (address.port === 0) return;
  await request('POST', { ...address, path: '/flush', ms: FLUSH_MS }).catch(() => '');
}

/** Rejects if the response exceeds the limits. */
async function request(
  method: 'GET' | 'POST',
  { host, port, path, ms }: Address & { readonly path: string; readonly ms: number },
): Promise<string> {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const url = `http://${addressText({ host: name, port })}${path}`;
  const signal = AbortSignal.timeout(ms);
  return await abortable(read(method, url, signal), signal);
}

function read(method: string, url: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = send(url, { method, agent: false, signal }, async (response) => {
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
    request.end();
  });
}
