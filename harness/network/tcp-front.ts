import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../process/run-command.ts';
import { createRandom, type Random } from '../random.ts';
import { freePorts } from './free-port.ts';

type Direction = 'toServer' | 'toClient';

/** Each connection, or each piece of it, gets a number of its own from this range. */
type Range = readonly [least: number, most: number];

/** What happens to connections, as JSON; several can be active together. */
export type TcpFault =
  /** Open connections are reset, once, or each `everyMs`. */
  | { readonly kind: 'reset'; readonly everyMs?: number }
  /** Nobody listens; open connections are reset, unless they are kept. */
  | { readonly kind: 'refuse'; readonly keepsOpen?: true }
  /** This share of the new connections is reset; open ones once. */
  | { readonly kind: 'refuseSome'; readonly share: number }
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
  | { readonly kind: 'delay'; readonly ms: Range }
  /** Answers pass at this speed, in small pieces. */
  | { readonly kind: 'slow'; readonly bytesPerSecond: number }
  /** Each connection ends after so many bytes to the client. */
  | { readonly kind: 'cutAfter'; readonly bytes: Range; readonly ending: 'reset' | 'end' }
  /** One byte to the client is another. */
  | { readonly kind: 'corrupt'; readonly afterBytes: Range }
  /**
   * As `corrupt`, of plain http, where nobody could tell that a byte of the payload is another: the first byte of a
   * request, and of a chunk's length in an answer.
   */
  | { readonly kind: 'corruptFraming' }
  /** New connections get these bytes in place of a handshake; open ones are reset. */
  | { readonly kind: 'say'; readonly text: string };

const directions = ['toServer', 'toClient'] as const;
export const DROP_OLD: TcpFault = { kind: 'dropOld', directions };
export const HOLD: TcpFault = { kind: 'hold', directions };

/** A fault of connections that has begun. */
export interface ActiveTcpFault {
  end(): Promise<void>;
  hits(): number;
  /** Of `dropOld`: dead connections that the client has not closed after so long; resolves earlier if it has. */
  stillOpen(withinMs: number): Promise<readonly string[]>;
}

/** TCP, or a Unix socket, which leads from one network namespace into another. */
export type SocketAddress =
  | { readonly host: string; readonly port: number }
  | { readonly path: string };

export interface TcpFrontOptions {
  readonly listen: SocketAddress;
  readonly target: SocketAddress;
  /**
   * What a client gets while nobody listens at the target. True: it waits, as at a socket that a service manager holds
   * open, because a client-go that is refused backs off for up to half a minute. False (default): its connection ends.
   */
  readonly hold?: boolean;
  /** Called with the port that the target sees when bytes to a client are not what the target has sent. */
  readonly onDamage?: (port: number) => void;
}

/** Listens at one address for as long as it lives, and passes connections on to another one. */
export interface TcpFront {
  /** When connections arrived, of performance.now(). */
  readonly accepted: readonly number[];
  /** Connections that are open. */
  readonly open: number;
  /** Bytes that the target has sent so far, also those that are lost. */
  readonly received: number;
  begin(fault: TcpFault): Promise<ActiveTcpFault>;
  /** Resets all connections; returns how many. */
  cut(): number;
  stop(): Promise<void>;
}

/** Time between two attempts to reach the target, in milliseconds. */
const RETRY_MS = 50;

interface Active {
  readonly fault: TcpFault;
  readonly random: Random;
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
  /** Called with the number of bytes that the server has sent. */
  readonly onReceived: (bytes: number) => void;
  /** Called when bytes to the client are not what the server has sent. */
  onDamage?: () => void;
  /** Bytes left until a fault hits this connection; negative: it has. */
  readonly counts: Map<Active, number>;
}

/** A front at a port of loopback of its own, and its URL, which has the scheme of the server's. */
export type UrlFront = Awaited<ReturnType<typeof startUrlFront>>;

/** Passes connections on to the server at a URL. */
export async function startUrlFront(target: string) {
  const url = new URL(target);
  // The kernel gives this port to nobody else while it refuses connections.
  const [port = 0] = await freePorts(1);
  const front = await startTcpFront({
    listen: { host: '127.0.0.1', port },
    target: { host: url.hostname, port: Number(url.port) },
  });
  url.port = String(port);
  return Object.assign(front, { port, url: url.origin, close: front.stop });
}

export async function startTcpFront(options: TcpFrontOptions): Promise<TcpFront> {
  const { listen: address, target, hold = false, onDamage = () => {} } = options;
  const links = new Set<Link>();
  /** Also those that are in no link. */
  const sockets = new Set<Socket>();
  const track = (socket: Socket): void => {
    socket.on('error', () => {});
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  let isStopped = false;
  const active = new Set<Active>();
  const accepted: number[] = [];
  let received = 0;
  const onReceived = (bytes: number): void => {
    received += bytes;
  };
  const firstOf = <K extends TcpFault['kind']>(kind: K) =>
    [...active].find((each) => each.fault.kind === kind);
  const onClient = (client: Socket): void => {
    accepted.push(performance.now());
    track(client);
    const since = performance.now();
    const link: Link = { client, since, onReceived, dead: new Set(), counts: new Map() };
    for (const each of active) {
      if (refuses(each, client, links.size)) return;
    }
    links.add(link);
    client.once('close', () => links.delete(link));
    // Nobody answers its FIN: the client has given up a dead connection.
    client.once('end', () => {
      if (link.dead.size > 0) client.destroy();
    });
    if (firstOf('hang') === undefined) void passOn(link);
  };
  const passOn = async (link: Link): Promise<void> => {
    const { client } = link;
    while (!client.destroyed) {
      const server = connect(target);
      track(server);
      if (await isConnected(server)) {
        link.onDamage = () => onDamage(server.localPort ?? 0);
        client.once('close', () => server.destroy());
        server.once('close', () => {
          if (link.dead.size === 0) client.destroy();
        });
        if (client.destroyed) server.destroy();
        void pump(client, server, 'toServer', link, active);
        void pump(server, client, 'toClient', link, active);
        return;
      }
      if (!hold) client.destroy();
      await sleep(RETRY_MS);
    }
  };
  let server: Server | undefined = await listen(address, onClient);
  const cut = (): number => {
    const count = links.size;
    for (const { client } of links) reset(client);
    return count;
  };
  return {
    accepted,
    get open() {
      return links.size;
    },
    get received() {
      return received;
    },
    cut,
    begin: async (fault) => {
      const random = createRandom(accepted.length);
      const self: Active = { fault, random, ended: new AbortController(), hits: 0 };
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
          // A socket that is not read is not notified of a reset. The kernel has no peer of it any more.
          const stillOpen = open().filter(({ client }) => client.remotePort !== undefined);
          return await Promise.all(stillOpen.map(describe));
        },
        end: async () => {
          active.delete(self);
          self.ended.abort();
          // Only a real end of what hangs lets clients try again.
          if (fault.kind === 'hang') cut();
          const isRefusing = firstOf('refuse') !== undefined;
          if (!isRefusing && !isStopped) server ??= await listen(address, onClient);
        },
      };
    },
    stop: async () => {
      isStopped = true;
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

async function listen(address: SocketAddress, onClient: (client: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, onClient);
  server.listen(address);
  await once(server, 'listening');
  return server;
}

async function isConnected(socket: Socket): Promise<boolean> {
  return await new Promise((done) => {
    socket.once('connect', () => done(true));
    socket.once('close', () => done(false));
  });
}

/** What a fault does to the open connections; returns how many it harmed. */
function strike(fault: TcpFault, links: readonly Link[]): number {
  if (fault.kind === 'refuse' && fault.keepsOpen === true) return 0;
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
    case 'corruptFraming':
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
    (fault.kind === 'refuseSome' && each.random.chance(fault.share)) ||
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
      if (direction === 'toClient') link.onReceived(chunk.length);
      const bytes = await harm(chunk, direction, link, active, to);
      if (to.destroyed) return;
      if (bytes === undefined || link.dead.has(direction)) continue;
      if (!to.write(bytes)) {
        await untilDrained(to);
      }
    }
    if (!link.dead.has(direction)) to.end();
  } catch {
    if (link.dead.size === 0) reset(to);
  }
}

/** Resolves when more can be written, or never will be. Leaves no listeners behind. */
async function untilDrained(to: Socket): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  await Promise.race([once(to, 'drain', { signal }), once(to, 'close', { signal })]).catch(
    () => {},
  );
  settled.abort();
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
      await pause(within(each.random, fault.ms));
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
    } else {
      const kept = damage(each, link, bytes, direction);
      if (kept === undefined) continue;
      if (kept.ending === undefined) bytes = kept.bytes;
      else return endAfter(to, kept.bytes, kept.ending);
    }
  }
  return bytes;
}

/** For faults that hit a connection once, most of them after so many bytes to the client. */
function damage(
  each: Active,
  link: Link,
  bytes: Buffer,
  direction: Direction,
): { readonly bytes: Buffer; readonly ending?: 'reset' | 'end' } | undefined {
  const { fault, random } = each;
  if (fault.kind === 'corruptFraming') {
    const isFraming = direction === 'toServer' || startsHttpChunk(bytes);
    if (link.counts.has(each) || !isFraming) return undefined;
    link.counts.set(each, -1);
    each.hits += 1;
    return { bytes: withByte(bytes, 0, direction === 'toServer' ? 0xff : 0x4a) };
  }
  if (direction === 'toServer') return undefined;
  if (fault.kind !== 'cutAfter' && fault.kind !== 'corrupt') return undefined;
  const range = fault.kind === 'cutAfter' ? fault.bytes : fault.afterBytes;
  const left = link.counts.get(each) ?? within(random, range);
  link.counts.set(each, left - bytes.length);
  if (left < 0 || bytes.length <= left) return undefined;
  each.hits += 1;
  link.onDamage?.();
  if (fault.kind === 'cutAfter') return { bytes: bytes.subarray(0, left), ending: fault.ending };
  link.counts.set(each, -1);
  return { bytes: withByte(bytes, left, 0x55) };
}

function within(random: Random, [least, most]: Range): number {
  return least + random.below(most - least);
}

/** A copy in which one byte has other bits. */
function withByte(bytes: Buffer, at: number, bits: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ bits;
  return copy;
}

function startsHttpChunk(bytes: Buffer): boolean {
  return /^[0-9a-f]{1,8}\r\n/i.test(bytes.toString('latin1', 0, 10));
}

function endAfter(to: Socket, bytes: Buffer, ending: 'reset' | 'end'): undefined {
  to.write(bytes, () => {
    if (ending === 'end') to.end();
    else reset(to);
  });
  return undefined;
}

/** A Unix socket has no reset, and throws. */
function reset(socket: Socket): void {
  try {
    socket.resetAndDestroy();
  } catch {
    socket.destroy();
  }
}
