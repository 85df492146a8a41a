import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** What the admin listener sends. */
export interface Answer {
  /** Default: 200. */
  readonly code?: number;
  /** Default: those of plain text. */
  readonly headers?: OutgoingHttpHeaders;
  readonly body: string;
}

/** Answers the requests of a path; undefined: the client has gone. The response only tells whether it has. */
export type Route = (
  request: IncomingMessage,
  response: ServerResponse,
) => Answer | undefined | Promise<Answer | undefined>;
