import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { json } from 'node:stream/consumers';
import { track } from './http-server.ts';
import { passOn } from './pass-on.ts';

/** An access review that the API server received. */
export interface SeenReview {
  readonly kind: string;
  readonly authorization: string | undefined;
  readonly spec: {
    readonly user?: string;
    readonly groups?: string[];
    readonly resourceAttributes: Record<string, unknown>;
  };
}

/** Stands for the API server: answers access reviews as the test decides, and forwards everything else. */
export interface ReviewServer {
  readonly url: string;
  readonly reviews: SeenReview[];
  /** Requests that are neither reviews nor the wrapper's own lists and watches. */
  readonly passed: {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingHttpHeaders;
    /** Each header with all its lines. */
    readonly lines: IncomingMessage['headersDistinct'];
  }[];
  /** The Authorization headers of the SelfSubjectReviews. */
  readonly identities: (string | undefined)[];
  /** Decides; a number is an HTTP status. Default: allowed. */
  decide: (review: SeenReview) => boolean | number | Promise<boolean | number>;
  /** HTTP status of a SelfSubjectReview; undefined (default): the API server behind answers it. */
  refuseIdentity: () => number | undefined | Promise<number | undefined>;
  close(): Promise<void>;
}

/**
 * @param target URL of an API server without access reviews
 * @param own the wrapper's own Authorization header, to recognise its requests
 */
export async function startReviewServer(target: string, own?: string): Promise<ReviewServer> {
  const reviews: SeenReview[] = [];
  const identities: ReviewServer['identities'] = [];
  const passed: ReviewServer['passed'] = [];
  const isOwnRead = ({ method, headers }: IncomingMessage) =>
    method === 'GET' && headers.authorization === own;
  // The wrapper asks for the version over HTTP/1.1 now and then, to find connections that are dead.
  const isQuestion = ({ url, headers }: IncomingMessage) =>
    url === '/version' && headers['user-agent']?.startsWith('kube-proxy-wrapper/');
  const server = createServer(async (incoming, response) => {
    if (/accessreviews$/.test(incoming.url ?? '')) return answerReview(incoming, response);
    if (/selfsubjectreviews$/.test(incoming.url ?? '')) return answerIdentity(incoming, response);
    const { method = '', url = '', headers, headersDistinct: lines } = incoming;
    if (!isOwnRead(incoming) && !isQuestion(incoming)) passed.push({ method, url, headers, lines });
    passOn(target, incoming, response);
  });
  async function answerReview(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { kind, spec } = (await json(incoming)) as Pick<SeenReview, 'kind' | 'spec'>;
    const review = { kind, spec, authorization: incoming.headers.authorization };
    reviews.push(review);
    const decision = await reviewServer.decide(review);
    const status = { allowed: decision, ...(decision === true ? {} : { reason: 'no rule' }) };
    respond(response, typeof decision === 'number' ? decision : { kind, status });
  }
  async function answerIdentity(
    incoming: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    identities.push(incoming.headers.authorization);
    const code = await reviewServer.refuseIdentity();
    if (code === undefined) passOn(target, incoming, response);
    else respond(response, code);
  }
  const { url, close } = await track(server, false);
  const reviewServer: ReviewServer = {
    url: url.origin,
    reviews,
    identities,
    passed,
    decide: () => true,
    refuseIdentity: () => undefined,
    close,
  };
  return reviewServer;
}

/** @param answer a review, or an HTTP status without one */
function respond(response: ServerResponse, answer: number | object): void {
  if (response.destroyed) return;
  const [code, body] = typeof answer === 'number' ? [answer, {}] : [201, answer];
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
