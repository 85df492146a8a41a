import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP relay in front of a server, with the faults of a network. */
export interface TcpRelay {
  /** Has the same scheme as the URL of the server. */
  readonly url: string;
  /** Connections ever accepted. */
  readonly accepted: number;
  /** Connections that are open. */
  readonly open: number;
  /** Bytes that the server has sent over all connections so far. */
  readonly received: number;
  /** Stops all bytes in both directions for good, also on new connections. */
  freeze(): void;
  /** As {@link freeze}, but only for open connections; new ones work. */
  freezeOpen(): void;
  /** Resets each connection after so many more bytes from the server. */
  cutAfter(bytes: number): void;
  /** Resets all connections. */
  cut(): void;
  /** Stops listening, so that new connections are refused; open ones stay. */
  refuse(): Promise<void>;
  /** Listens again, on the same port. */
  accept(): Promise<void>;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** Bytes from the server until the connection is reset. */
  left: number;
}

export async function startTcpRelay(target: string): Promise<TcpRelay> {
  const { protocol, hostname, port: targetPort } = new URL(target);
  const pairs = new Set<Pair>();
  let frozen = false;
  let accepted = 0;
  let received = 0;
  const freezePair = ({ client, server }: Pair): void => {
    client.unpipe(server).pause();
    server.pause();
  };
  const onConnection = (client: Socket): void => {
    accepted++;
    const pair: Pair = {
      client,
      server: connect(Number(targetPort), hostname),
      left: Number.POSITIVE_INFINITY,
    };
    pairs.add(pair);
    pair.server.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    join(pair, () => pairs.delete(pair));
    if (frozen) freezePair(pair);
  };
  let listener = await listen(onConnection, 0);
  const { port } = listener.address() as { port: number };
  return {
    url: `${protocol}//127.0.0.1:${port}`,
    get accepted() {
      return accepted;
    },
    get open() {
      return pairs.size;
    },
    get received() {
      return received;
    },
    freeze() {
      frozen = true;
      for (const pair of pairs) freezePair(pair);
    },
    freezeOpen() {
      for (const pair of pairs) freezePair(pair);
    },
    cutAfter(bytes) {
      for (const pair of pairs) pair.left = bytes;
    },
    cut() {
      for (const { client } of pairs) client.resetAndDestroy();
    },
    async refuse() {
      await new Promise<void>((resolve) => {
        listener.close(() => resolve());
        // close waits for open connections, which must stay.
        if (pairs.size > 0) resolve();
      });
    },
    async accept() {
      listener = await listen(onConnection, port);
    },
    async close() {
      listener.close();
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
    },
  };
}

async function listen(onConnection: (socket: Socket) => void, port: number): Promise<Server> {
  const server = createServer(onConnection);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}

function join(pair: Pair, onEnd: () => void): void {
  const { client, server } = pair;
  client.pipe(server);
  server.on('data', (chunk: Buffer) => {
    if (chunk.length < pair.left) {
      pair.left -= chunk.length;
      client.write(chunk);
      return;
    }
    client.write(chunk.subarray(0, pair.left), () => client.resetAndDestroy());
    server.destroy();
  });
  server.on('end', () => client.end());
  for (const [socket, other] of [
    [client, server],
    [server, client],
  ] as const) {
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      other.destroy();
      onEnd();
    });
  }
}
