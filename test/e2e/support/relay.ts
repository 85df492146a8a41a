import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** TCP, or a Unix socket, which leads from one network namespace into another. */
export type RelayAddress =
  | { readonly host: string; readonly port: number }
  | { readonly path: string };

/** Passes connections on. */
export interface Relay {
  /** Resets all connections of now, in the middle of whatever they carry. Returns how many. */
  cut(): number;
}

/** Time between two attempts to reach the target, in milliseconds. */
const RETRY_MS = 50;

/**
 * Listens and passes each connection on to the target. While nobody listens there the client waits, as at
 * a socket that a service manager holds open: a client-go that is refused would back off for up to half a
 * minute, and tests should not wait for that.
 */
export async function createRelay(listen: RelayAddress, target: RelayAddress): Promise<Relay> {
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    client.on('error', () => {});
    client.once('close', () => clients.delete(client));
    passOn(client, target);
  });
  server.listen(listen);
  await once(server, 'listening');
  return {
    cut: () => {
      const count = clients.size;
      for (const client of clients) client.resetAndDestroy();
      return count;
    },
  };
}

function passOn(client: Socket, target: RelayAddress): void {
  if (client.destroyed) return;
  const upstream = connect(target);
  let connected = false;
  upstream.once('connect', () => {
    connected = true;
    client.pipe(upstream);
    upstream.pipe(client);
  });
  upstream.on('error', () => {});
  upstream.once('close', () => {
    if (connected) client.destroy();
    else setTimeout(passOn, RETRY_MS, client, target);
  });
  client.once('close', () => upstream.destroy());
}
