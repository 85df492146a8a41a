import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { request as secureRequest } from 'node:https';

/** An http server in front of another one. It can write bytes of its own into the responses. */
export interface Relay {
  readonly url: string;
  /** Writes bytes into every open response for this path, as if the server had sent them. */
  inject(path: string, bytes: Buffer): void;
  /** Answers further requests for this path with this body; undefined stops this. */
  replace(path: string, body: Buffer | undefined): void;
  close(): Promise<void>;
}

export async function startRelay(target: string): Promise<Relay> {
  const open = new Set<{ path: string; response: ServerResponse }>();
  const replaced = new Map<string, Buffer>();
  const server = createServer((incoming, response) => {
    const [path = ''] = (incoming.url ?? '').split('?', 1);
    const body = replaced.get(path);
    if (body !== undefined) {
      response.setHeader('content-type', 'application/vnd.kubernetes.protobuf');
      response.end(body);
      return;
    }
    const entry = { path, response };
    open.add(entry);
    response.on('close', () => open.delete(entry));
    forward(target, incoming, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    inject(path, bytes) {
      for (const entry of open) if (entry.path === path) entry.response.write(bytes);
    },
    replace(path, body) {
      if (body === undefined) replaced.delete(path);
      else replaced.set(path, body);
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function forward(target: string, incoming: IncomingMessage, response: ServerResponse): void {
  const { method, headers, url = '' } = incoming;
  const send = target.startsWith('https:') ? secureRequest : request;
  const options = { method, headers, rejectUnauthorized: false };
  const upstream = send(target + url, options, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    // Without this, the headers of a quiet watch wait for its first event.
    response.flushHeaders();
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  upstream.on('error', () => response.destroy());
  response.on('close', () => upstream.destroy());
  incoming.pipe(upstream);
}
