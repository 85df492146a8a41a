import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

/** A bug of a server, planted between it and a client. */
export interface PlantedBug {
  /** In place of a line of a watch; a function of its own for each watch. */
  readonly lines?: () => (line: string) => readonly string[];
  /** In place of the body of a LIST. */
  readonly list?: (body: string) => string;
  /** Another version to watch from, in place of the one that is asked for. */
  readonly version?: (asked: string) => Promise<string>;
}

/** An http server that passes all on, but for its bug. */
export interface Shim {
  readonly url: string;
  close(): Promise<void>;
}

export async function startShim(target: string, bug: PlantedBug): Promise<Shim> {
  const server = createServer((incoming, response) => {
    void pass(target, bug, incoming, response).catch(() => response.destroy());
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

async function pass(
  target: string,
  bug: PlantedBug,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(incoming.url ?? '', target);
  const asked = url.searchParams.get('resourceVersion');
  const watch = url.searchParams.has('watch');
  if (watch && asked !== null && bug.version !== undefined) {
    url.searchParams.set('resourceVersion', await bug.version(asked));
  }
  const headers = { accept: 'application/json' };
  const upstream = request(url, { headers, agent: false });
  response.once('close', () => upstream.destroy());
  upstream.end();
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    upstream.once('response', resolve);
    upstream.once('error', reject);
  });
  response.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' });
  response.flushHeaders();
  if (watch && answer.statusCode === 200) return await passLines(answer, response, bug);
  const body = await text(answer);
  response.end(bug.list?.(body) ?? body);
}

async function passLines(
  answer: IncomingMessage,
  response: ServerResponse,
  bug: PlantedBug,
): Promise<void> {
  const alter = bug.lines?.() ?? ((line) => [line]);
  answer.on('error', () => response.destroy());
  for await (const line of createInterface({ input: answer })) {
    for (const altered of alter(line)) response.write(`${altered}\n`);
  }
  response.end();
}
