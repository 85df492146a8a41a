import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answerer, createAnswerer } from './relay-answerer.ts';
import { Harm, type RelayFault } from './relay-fault.ts';

/** TCP, or a Unix socket, which leads from one network namespace into another. */
export type RelayAddress =
  | { readonly host: string; readonly port: number }
  | { readonly path: string };

/** Passes connections on. */
export interface Relay {
  /** Resets all connections of now, in the middle of whatever they carry. Returns how many. */
  cut(): number;
  /** Harms what passes from now on, in place of what did so before; null heals. */
  inject(fault: RelayFault | null): Promise<void>;
  /** How many connections the last fault has harmed so far. */
  readonly harmed: number;
}

export interface RelayOptions {
  /**
   * What a client gets while nobody listens at the target. True (default): it waits, as at a socket that a
   * service manager holds open, since a client-go that is refused backs off for up to half a minute, and
   * tests should not wait for that. False: its connection is reset.
   */
  readonly hold?: boolean;
}

/** Time between two attempts to reach the target, in milliseconds. */
const RETRY_MS = 50;

/** Listens and passes each connection on to the target. */
export async function createRelay(
  listen: RelayAddress,
  target: RelayAddress,
  options: RelayOptions = {},
): Promise<Relay> {
  const { hold = true } = options;
  const clients = new Set<Socket>();
  let answerer: Answerer | undefined;
  let answered = 0;
  const harm = new Harm();
  const onClient = (client: Socket): void => {
    clients.add(client);
    client.on('error', () => {});
    client.once('close', () => clients.delete(client));
    if (answerer === undefined) void passOn(client, target, harm, hold);
    else answerer.take(client);
  };
  const cut = (): number => {
    const count = clients.size;
    for (const client of clients) reset(client);
    return count;
  };
  let server: Server | undefined = await startListening(listen, onClient);
  return {
    cut,
    get harmed() {
      return harm.harmed + answered;
    },
    inject: async (fault) => {
      harm.begin(fault);
      if (answerer !== undefined) {
        answered = answerer.harmed;
        answerer.stop();
        answerer = undefined;
        cut();
      } else if (fault !== null) {
        answered = 0;
      }
      if (fault?.kind === 'answer') {
        answerer = createAnswerer(fault);
        cut();
      }
      if (fault?.kind === 'refuse') {
        server?.close();
        server = undefined;
        harm.harmed = cut();
      } else {
        server ??= await startListening(listen, onClient);
      }
      if (fault?.kind === 'silence') harm.harmed = clients.size;
    },
  };
}

async function startListening(
  listen: RelayAddress,
  onClient: (client: Socket) => void,
): Promise<Server> {
  // Half of a connection may end before the other.
  const server = createServer({ allowHalfOpen: true }, onClient);
  server.listen(listen);
  await once(server, 'listening');
  return server;
}

async function passOn(
  client: Socket,
  target: RelayAddress,
  harm: Harm,
  hold: boolean,
): Promise<void> {
  await harm.silence();
  while (!client.destroyed) {
    const upstream = connect({ ...target, allowHalfOpen: true });
    upstream.on('error', () => {});
    if (await isConnected(upstream)) return join(client, upstream, harm);
    if (!hold) reset(client);
    await sleep(RETRY_MS);
  }
}

async function isConnected(socket: Socket): Promise<boolean> {
  return await new Promise((done) => {
    socket.once('connect', () => done(true));
    socket.once('close', () => done(false));
  });
}

function join(client: Socket, upstream: Socket, harm: Harm): void {
  client.once('close', () => upstream.destroy());
  upstream.once('close', () => client.destroy());
  if (client.destroyed) upstream.destroy();
  void pump(client, upstream, 'toServer', harm);
  void pump(upstream, client, 'toClient', harm);
}

/** Passes on one direction, in order, as fast as the reader takes it. */
async function pump(
  from: Socket,
  to: Socket,
  direction: 'toServer' | 'toClient',
  harm: Harm,
): Promise<void> {
  const closed = new Promise((done) => to.once('close', done));
  const passer = harm.passer(direction);
  try {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      const { bytes, ending } = await passer(chunk);
      if (to.destroyed) return;
      if (!to.write(bytes)) await Promise.race([once(to, 'drain').catch(() => {}), closed]);
      if (ending !== undefined) {
        // Bytes that were written before must arrive.
        await new Promise((written) => to.write('', written));
        if (ending === 'reset') reset(to);
        else to.end();
        from.destroy();
        return;
      }
    }
    to.end();
  } catch {
    // The reader has gone, or the sender was reset: so is the other side.
    reset(to);
  }
}

/** A Unix socket has no reset, and throws. */
function reset(socket: Socket): void {
  try {
    socket.resetAndDestroy();
  } catch {
    socket.destroy();
  }
}
