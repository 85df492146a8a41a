import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP relay in front of a server, with the faults of a network. */
export type TcpRelay = Awaited<ReturnType<typeof startTcpRelay>>;

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** Bytes from the server until the connection is reset. */
  left: number;
}

export async function startTcpRelay(target: string) {
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
    /** Has the same scheme as the URL of the server. */
    url: `${protocol}//127.0.0.1:${port}`,
    /** Connections ever accepted. */
    get accepted() {
      return accepted;
    },
    /** Connections that are open. */
    get open() {
      return pairs.size;
    },
    /** Bytes that the server has sent over all connections so far. */
    get received() {
      return received;
    },
    /** Stops all bytes in both directions, also on new connections. */
    freeze() {
      frozen = true;
      for (const pair of pairs) freezePair(pair);
    },
    /** Ends that, before anything was sent. */
    thaw() {
      frozen = false;
      for (const { client, server } of pairs) {
        client.pipe(server);
        server.resume();
      }
    },
    /** Stops all bytes of open connections for good; new ones work. */
    freezeOpen() {
      for (const pair of pairs) freezePair(pair);
    },
    /** Resets each connection after so many more bytes from the server. */
    cutAfter(bytes: number) {
      for (const pair of pairs) pair.left = bytes;
    },
    /** Resets all connections. */
    cut() {
      for (const { client } of pairs) client.resetAndDestroy();
    },
    /** Stops listening, so that new connections are refused; open ones stay. */
    async refuse() {
      await new Promise<void>((resolve) => {
        listener.close(() => resolve());
        // close waits for open connections, which must stay.
        if (pairs.size > 0) resolve();
      });
    },
    /** Listens again, on the same port. */
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
