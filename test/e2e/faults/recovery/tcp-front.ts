import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../../support/run-command.ts';

type Direction = 'toServer' | 'toClient';

/** What happens to connections; several can be active together. */
export type TcpFault =
  /** Open connections are reset, once, or each `everyMs`. */
  | { readonly kind: 'reset'; readonly everyMs?: number }
  /** Nobody listens; open connections are reset. */
  | { readonly kind: 'refuse' }
  /** This share of the new connections is reset; open ones once. */
  | { readonly kind: 'refuseSome'; readonly share: () => boolean }
  /** Only so many connections; others are reset. */
  | { readonly kind: 'limit'; readonly connections: number }
  /** New connections are accepted and nothing is read; open ones are reset. */
  | { readonly kind: 'hang' }
  /** New connections are accepted and closed; open ones too. */
  | { readonly kind: 'close' }
  /** The open connections lose all bytes, for ever; new ones work. */
  | { readonly kind: 'dropOld'; readonly directions: readonly Direction[] }
  /** All bytes are held until the end, as by a network that drops packets. */
  | { readonly kind: 'hold'; readonly directions: readonly Direction[] }
  /** Bytes are held for so long, then pass, in turn. */
  | { readonly kind: 'stutter'; readonly ms: number }
  | { readonly kind: 'delay'; readonly ms: () => number }
  /** Answers pass at this speed, in small pieces. */
  | { readonly kind: 'slow'; readonly bytesPerSecond: number }
  /** Each connection ends after so many bytes to the client. */
  | { readonly kind: 'cutAfter'; readonly bytes: () => number; readonly ending: 'reset' | 'end' }
  /** One byte to the client is another. */
  | { readonly kind: 'corrupt'; readonly afterBytes: () => number }
  /** New connections get these bytes in place of a handshake; open ones are reset. */
  | { readonly kind: 'say'; readonly text: string };

/** A fault of connections that has begun. */
export interface ActiveTcpFault {
  end(): Promise<void>;
  hits(): number;
  /** Of `dropOld`: dead connections that the client has not closed after so long; resolves earlier if it has. */
  stillOpen(withinMs: number): Promise<readonly string[]>;
}

/** Listens at one port for as long as it lives, and passes connections on to another one. */
export interface TcpFront {
  readonly port: number;
  /** When connections arrived, of performance.now(). */
  readonly accepted: readonly number[];
  begin(fault: TcpFault): Promise<ActiveTcpFault>;
  /** Resets all connections; returns how many. */
  cut(): number;
  stop(): Promise<void>;
}

interface Active {
  readonly fault: TcpFault;
  readonly ended: AbortController;
  hits: number;
}

/** One connection and its way on. */
interface Link {
  readonly client: Socket;
  /** When it was accepted, of performance.now(). */
  readonly since: number;
  /** Lost by `dropOld`: these directions stay dead. */
  readonly dead: Set<Direction>;
  /** Called when bytes to the client are not what the server has sent. */
  onDamage?: () => void;
  /** Bytes to the client under a fault that counts them. */
  readonly counts: Map<Active, number>;
}

/** @param onDamage called with the port that the server sees when bytes to a client are not what it has sent */
export async function startTcpFront(
  port: number,
  targetPort: number,
  onDamage: (port: number) => void,
): Promise<TcpFront> {
  const links = new Set<Link>();
  /** Also those that are in no link. */
  const sockets = new Set<Socket>();
  const track = (socket: Socket): void => {
    socket.on('error', () => {});
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  const active = new Set<Active>();
  const accepted: number[] = [];
  const firstOf = <K extends TcpFault['kind']>(kind: K) =>
    [...active].find((each) => each.fault.kind === kind);
  const onClient = (client: Socket): void => {
    accepted.push(performance.now());
    track(client);
    const link: Link = { client, since: performance.now(), dead: new Set(), counts: new Map() };
    for (const each of active) {
      if (refuses(each, client, links.size)) return;
    }
    links.add(link);
    client.once('close', () => links.delete(link));
    // Nobody answers its FIN: the client has given up a dead connection.
    client.once('end', () => {
      if (link.dead.size > 0) client.destroy();
    });
    if (firstOf('hang') !== undefined) return;
    const server = connect(targetPort, '127.0.0.1');
    link.onDamage = () => onDamage(server.localPort ?? 0);
    track(server);
    client.once('close', () => server.destroy());
    server.once('close', () => {
      if (link.dead.size === 0) client.destroy();
    });
    void pump(client, server, 'toServer', link, active);
    void pump(server, client, 'toClient', link, active);
  };
  let server: Server | undefined = await listen(port, onClient);
  const cut = (): number => {
    const count = links.size;
    for (const { client } of links) reset(client);
    return count;
  };
  return {
    port,
    accepted,
    cut,
    begin: async (fault) => {
      const self: Active = { fault, ended: new AbortController(), hits: 0 };
      active.add(self);
      const before = [...links];
      if (fault.kind === 'refuse') {
        server?.close();
        server = undefined;
      }
      self.hits += strike(fault, before);
      if (fault.kind === 'reset' && fault.everyMs !== undefined) void repeat(self, cut);
      return {
        hits: () => self.hits,
        stillOpen: async (withinMs) => {
          const deadline = performance.now() + withinMs;
          const open = () => before.filter((link) => link.dead.size > 0 && links.has(link));
          while (open().length > 0 && performance.now() < deadline) await sleep(50);
          return await Promise.all(open().map(describe));
        },
        end: async () => {
          active.delete(self);
          self.ended.abort();
          // Only a real end of what hangs lets clients try again.
          if (fault.kind === 'hang') cut();
          if (firstOf('refuse') === undefined) server ??= await listen(port, onClient);
        },
      };
    },
    stop: async () => {
      for (const each of active) each.ended.abort();
      server?.close();
      cut();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** A connection, with what the kernel says about the client's end of it. */
async function describe({ client, since }: Link): Promise<string> {
  const port = client.remotePort;
  const socket = await runCommand('ss', ['-tnpoH', `sport = :${port}`]).catch(() => '');
  const seconds = Math.round((performance.now() - since) / 1000);
  return `port ${port}, ${seconds} s old, ${client.bytesRead} bytes of the client, ${
    client.readableEnded ? 'ended by it' : 'not ended by it'
  }: ${socket.trim().replaceAll(/\s+/g, ' ')}`;
}

async function listen(port: number, onClient: (client: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, onClient);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** What a fault does to the open connections; returns how many it harmed. */
function strike(fault: TcpFault, links: readonly Link[]): number {
  switch (fault.kind) {
    case 'reset':
    case 'refuse':
    case 'refuseSome':
    case 'limit':
    case 'hang':
    case 'say':
      for (const { client } of links) reset(client);
      return links.length;
    case 'close':
      for (const { client } of links) client.end();
      return links.length;
    case 'dropOld':
      for (const link of links) {
        for (const direction of fault.directions) link.dead.add(direction);
      }
      return links.length;
    case 'cutAfter':
    case 'corrupt':
    case 'slow':
    case 'delay':
    case 'stutter':
    case 'hold':
      return 0;
  }
}

/** True: a new connection is not passed on. */
function refuses(each: Active, client: Socket, open: number): boolean {
  const { fault } = each;
  const isRefused =
    (fault.kind === 'refuseSome' && fault.share()) ||
    (fault.kind === 'limit' && open >= fault.connections);
  if (isRefused) reset(client);
  else if (fault.kind === 'close') client.end();
  else if (fault.kind === 'say') client.end(fault.text);
  else if (fault.kind === 'hang') each.hits += 1;
  if (!isRefused && fault.kind !== 'close' && fault.kind !== 'say') return false;
  each.hits += 1;
  client.resume();
  return true;
}

async function repeat(self: Active, cut: () => number): Promise<void> {
  const { fault, ended } = self;
  if (fault.kind !== 'reset') return;
  while (!ended.signal.aborted) {
    await sleep(fault.everyMs, undefined, { signal: ended.signal }).catch(() => {});
    if (!ended.signal.aborted) self.hits += cut();
  }
}

/** Passes on one direction, in order. */
async function pump(
  from: Socket,
  to: Socket,
  direction: Direction,
  link: Link,
  active: ReadonlySet<Active>,
): Promise<void> {
  try {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      const bytes = await harm(chunk, direction, link, active, to);
      if (to.destroyed) return;
      if (bytes === undefined || link.dead.has(direction)) continue;
      if (!to.write(bytes)) {
        await Promise.race([once(to, 'drain').catch(() => {}), once(to, 'close')]);
      }
    }
    if (!link.dead.has(direction)) to.end();
  } catch {
    if (link.dead.size === 0) reset(to);
  }
}

/** What becomes of some bytes; undefined: they are passed on already, or lost. */
async function harm(
  chunk: Buffer,
  direction: Direction,
  link: Link,
  active: ReadonlySet<Active>,
  to: Socket,
): Promise<Buffer | undefined> {
  let bytes: Buffer = chunk;
  for (const each of active) {
    const { fault, ended } = each;
    const pause = async (ms: number) =>
      await sleep(ms, undefined, { signal: ended.signal }).catch(() => {});
    if (fault.kind === 'hold' && fault.directions.includes(direction)) {
      each.hits += 1;
      await pause(600_000);
    } else if (fault.kind === 'delay') {
      each.hits += 1;
      await pause(fault.ms());
    } else if (fault.kind === 'stutter') {
      each.hits += 1;
      await pause(fault.ms - (performance.now() % fault.ms));
    } else if (fault.kind === 'slow' && direction === 'toClient') {
      each.hits += 1;
      const piece = Math.max(1, Math.floor(fault.bytesPerSecond / 20));
      while (bytes.length > piece && !ended.signal.aborted && !to.destroyed) {
        to.write(bytes.subarray(0, piece));
        bytes = bytes.subarray(piece);
        await pause(50);
      }
    } else if (direction === 'toClient') {
      const kept = damage(each, link, bytes);
      if (kept === undefined) continue;
      if (kept.ending === undefined) bytes = kept.bytes;
      else return endAfter(to, kept.bytes, kept.ending);
    }
  }
  return bytes;
}

/** For faults that hit a connection once, after so many bytes. */
function damage(
  each: Active,
  link: Link,
  bytes: Buffer,
): { readonly bytes: Buffer; readonly ending?: 'reset' | 'end' } | undefined {
  const { fault } = each;
  if (fault.kind !== 'cutAfter' && fault.kind !== 'corrupt') return undefined;
  const amount = fault.kind === 'cutAfter' ? fault.bytes : fault.afterBytes;
  const left = link.counts.get(each) ?? amount();
  link.counts.set(each, left - bytes.length);
  if (left < 0 || bytes.length <= left) return undefined;
  each.hits += 1;
  link.onDamage?.();
  if (fault.kind === 'cutAfter') return { bytes: bytes.subarray(0, left), ending: fault.ending };
  link.counts.set(each, -1);
  const copy = Buffer.from(bytes);
  copy[left] = (copy[left] ?? 0) ^ 0x55;
  return { bytes: copy };
}

function endAfter(to: Socket, bytes: Buffer, ending: 'reset' | 'end'): undefined {
  to.write(bytes, () => {
    if (ending === 'end') to.end();
    else reset(to);
  });
  return undefined;
}

function reset(socket: Socket): void {
  if (!socket.destroyed) socket.resetAndDestroy();
}
