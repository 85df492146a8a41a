import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { escapeJson } from '../text/untrusted-text.ts';

/** What the admin listener sends. */
export interface Answer {
  /** Default: 200. */
  readonly code?: number;
  /** Default: the headers of plain text. */
  readonly headers?: OutgoingHttpHeaders;
  readonly body: string;
}

/** Answers the requests of a path; undefined: the client has gone. Routes use the response only to notice that. */
export type Route = (
  request: IncomingMessage,
  response: ServerResponse,
) => Answer | undefined | Promise<Answer | undefined>;

/** An answer in JSON, of a text that is JSON. */
export function jsonAnswer(text: string, code = 200): Answer {
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  return { code, headers, body: `${escapeJson(text)}\n` };
}
