import type { RequestListener } from 'node:http';
import type { TlsOptions } from '../../../src/client/credentials/credentials.ts';
import {
  Upstream,
  type UpstreamOptions,
  type UpstreamResponse,
} from '../../../src/client/upstream/upstream.ts';
import { readBody, type UpstreamBody } from '../../../src/client/upstream/upstream-body.ts';
import { closedLater } from '../closed-later.ts';
import { recordingLogger } from '../recording-logger.ts';
import { FakeCredentials } from './credentials.ts';
import { idleLater, startServer } from './http-server.ts';

/** Creates the client of a server, with the lines that it logs. It is closed after the test. */
export function upstreamTo(
  server: URL,
  tls: TlsOptions = {},
  options: Partial<UpstreamOptions> = {},
) {
  const credentials = new FakeCredentials(server, tls);
  const { logger, lines } = recordingLogger();
  const upstream = closedLater(new Upstream({ credentials, logger, ...options }));
  return { upstream, credentials, lines };
}

/** Starts a server and its client, and closes them after the test. No connection may be left then. */
export async function useUpstream(
  listener: RequestListener,
  { prefix = '', ...options }: Partial<UpstreamOptions> & { readonly prefix?: string } = {},
) {
  const server = idleLater(await startServer(listener));
  return { server, ...upstreamTo(new URL(prefix, server.url), {}, options) };
}

/** Reads a body to its end. */
export async function readText(body: UpstreamBody): Promise<string> {
  return String(await readBody({ headers: {}, body }, 1 << 26));
}

/** Opens a watch; resolves when its headers have arrived. `end` is how it ends, and `state` how it has. */
export async function openWatch(asked: Promise<UpstreamResponse>) {
  const { body } = await asked;
  const watch = { chunks: [] as string[], state: 'open', error: undefined as unknown };
  const end: Promise<string> = body
    .read((arrived) => void watch.chunks.push(...arrived.map(String)))
    .then(
      () => 'ended',
      (error) => {
        watch.error = error;
        return error.code ?? error.message;
      },
    );
  void end.then((state) => {
    watch.state = state;
  });
  return Object.assign(watch, { end });
}
