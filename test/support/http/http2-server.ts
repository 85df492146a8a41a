import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2';
import { issue, type KeyPair, makeAuthority } from '../../../harness/certificates.ts';
import { eventually } from '../eventually.ts';
import { type TestServer, track } from './http-server.ts';

export const CODES = constants;

/** A request that an {@link Http2TestServer} has received. */
export interface SeenStream {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly session: ServerHttp2Session;
}

/** A server of HTTP/2 over TLS that a test scripts. */
export interface Http2TestServer extends TestServer<Http2SecureServer> {
  /** The authority of its certificate, as PEM. */
  readonly ca: string;
  /** Connections that are open, oldest first. */
  readonly sessions: readonly ServerHttp2Session[];
  /** All requests, oldest first. */
  readonly seen: readonly SeenStream[];
  /** Waits for the n-th request, from 1. */
  request(n: number): Promise<SeenStream>;
}

let pair: Promise<KeyPair & { readonly ca: string }> | undefined;

/** A certificate for 127.0.0.1, the same for all servers of a test file. */
export async function servingPair(): Promise<KeyPair & { readonly ca: string }> {
  pair ??= (async () => {
    const authority = await makeAuthority();
    return { ...(await issue(authority, 'kubernetes')), ca: authority.cert };
  })();
  return await pair;
}

/** @param onRequest answers a request; default: 200 and the path */
export async function startHttp2Server(
  onRequest: (seen: SeenStream, n: number) => void = respondPath,
  settings: Settings = {},
): Promise<Http2TestServer> {
  const { ca, ...keyPair } = await servingPair();
  // The limit in MB is for what all streams of a session buffer.
  const server = createSecureServer({ ...keyPair, settings, maxSessionMemory: 1000 });
  const sessions: ServerHttp2Session[] = [];
  const seen: SeenStream[] = [];
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => {});
    session.once('close', () => sessions.splice(sessions.indexOf(session), 1));
    session.on('stream', (stream, headers) => {
      stream.on('error', () => {});
      const each = { stream, headers, session };
      seen.push(each);
      onRequest(each, seen.length);
    });
  });
  return Object.assign(await track(server, true), {
    ca,
    sessions,
    seen,
    request: async (n: number) => {
      await eventually(() => seen.length >= n, true);
      return seen[n - 1] as SeenStream;
    },
  });
}

export function respondPath({ stream, headers }: SeenStream): void {
  stream.respond({ ':status': 200, 'content-type': 'application/json' });
  stream.end(String(headers[':path']));
}
