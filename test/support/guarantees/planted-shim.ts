import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

/** A bug that a shim adds between a server and a client. */
export interface PlantedBug {
  /** Replaces each line of a watch. Called once per watch. */
  readonly lines?: () => (line: string) => readonly string[];
  /** Replaces the body of a LIST. */
  readonly list?: (body: string) => string;
  /** Replaces the version from which a client watches. */
  readonly version?: (requested: string) => Promise<string>;
}

/** An HTTP proxy that adds a bug. */
export interface Shim {
  readonly url: string;
  close(): Promise<void>;
}

export async function startShim(target: string, bug: PlantedBug): Promise<Shim> {
  const server = createServer((incoming, response) => {
    void forward(target, bug, incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function forward(
  target: string,
  bug: PlantedBug,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(incoming.url ?? '', target);
  const requested = url.searchParams.get('resourceVersion');
  const watch = url.searchParams.has('watch');
  if (watch && requested !== null && bug.version !== undefined) {
    url.searchParams.set('resourceVersion', await bug.version(requested));
  }
  const headers = { accept: 'application/json' };
  const upstream = request(url, { headers, agent: false });
  response.once('close', () => upstream.destroy());
  upstream.end();
  const upstreamResponse = await new Promise<IncomingMessage>((resolve, reject) => {
    upstream.once('response', resolve);
    upstream.once('error', reject);
  });
  response.writeHead(upstreamResponse.statusCode ?? 502, { 'content-type': 'application/json' });
  response.flushHeaders();
  if (watch && upstreamResponse.statusCode === 200)
    return await forwardLines(upstreamResponse, response, bug);
  const body = await text(upstreamResponse);
  response.end(bug.list?.(body) ?? body);
}

async function forwardLines(
  upstreamResponse: IncomingMessage,
  response: ServerResponse,
  bug: PlantedBug,
): Promise<void> {
  const alter = bug.lines?.() ?? ((line) => [line]);
  upstreamResponse.on('error', () => response.destroy());
  for await (const line of createInterface({ input: upstreamResponse })) {
    for (const altered of alter(line)) response.write(`${altered}\n`);
  }
  response.end();
}
