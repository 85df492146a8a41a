import { get } from 'node:http';
import { addressText } from '../proxy/address.ts';
import type { Question } from '../proxy/question.ts';
import { readQuestions } from '../proxy/questions-json.ts';

/** How long another process may take to answer, in milliseconds. */
const ANSWER_MS = 2_000;
const MAX_BYTES = 256 * 1024;
/** 70 bytes for each object of each view. */
const MAX_LAST_WORDS = 64 * 1024 * 1024;

/**
 * Asks the process that has the admin port now, if any, what it has views for, so that this one can have
 * them too before it takes over. Undefined: nobody answers, or nothing that helps. Never rejects: this is a matter of speed only.
 */
export async function askPredecessor(
  { host, port }: { readonly host: string; readonly port: number },
  nodeName: string,
): Promise<Question[] | undefined> {
  if (port === 0) return undefined;
  const signal = AbortSignal.timeout(ANSWER_MS);
  const text = await read(urlOf({ host, port }, '/views'), MAX_BYTES, signal).catch(
    () => undefined,
  );
  const questions = text === undefined ? [] : readQuestions(text, nodeName);
  return questions.length === 0 ? undefined : questions;
}

/**
 * Waits for what that process tells when it ends, see Bequest: for as long as it lives. Undefined: it ended
 * without a word. Never rejects.
 */
export async function awaitLastWords(
  address: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<string | undefined> {
  return await read(urlOf(address, '/succession'), MAX_LAST_WORDS, signal).catch(() => undefined);
}

function urlOf({ host, port }: { host: string; port: number }, path: string): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${addressText({ host: name, port })}${path}`;
}

function read(url: string, maxBytes: number, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, signal }, async (response) => {
      try {
        const chunks: Buffer[] = [];
        let bytes = 0;
        for await (const chunk of response as AsyncIterable<Buffer>) {
          bytes += chunk.length;
          if (bytes > maxBytes) throw new Error('more than any wrapper would answer');
          chunks.push(chunk);
        }
        resolve(response.statusCode === 200 ? Buffer.concat(chunks).toString() : undefined);
      } catch (error) {
        reject(error);
      }
    });
    request.once('error', reject);
  });
}
