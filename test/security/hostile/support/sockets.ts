import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { eventually } from '../../../e2e/support/eventually.ts';

/** A connection that an attacker keeps open. */
export interface HeldSocket {
  readonly socket: Socket;
  /** All that was received so far, as latin1. */
  received(): string;
  /** Resolves when the connection is closed, for whatever reason. */
  readonly closed: Promise<void>;
}

export interface HoldOptions {
  /** Sent when the connection is open. Default: nothing. */
  readonly bytes?: string;
  /** PEM of the authority for TLS; absent: plain TCP. */
  readonly ca?: string;
}

/** Opens a connection to a port of 127.0.0.1 and keeps it. */
export function hold(port: number, options: HoldOptions = {}): HeldSocket {
  const { bytes = '', ca } = options;
  const target = { host: '127.0.0.1', port };
  const socket =
    ca === undefined ? connect(target) : connectTls({ ...target, ca, servername: 'localhost' });
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    received += chunk;
  });
  socket.on('error', () => {});
  if (bytes !== '') socket.write(bytes, 'latin1');
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return { socket, received: () => received, closed };
}

/** Whether the connection ends within a time, in milliseconds. */
export async function endsWithin({ closed }: HeldSocket, ms: number): Promise<boolean> {
  const waiting = new AbortController();
  const late = sleep(ms, false, { signal: waiting.signal }).catch(() => false);
  const ended = await Promise.race([closed.then(() => true), late]);
  waiting.abort();
  return ended;
}

/** The bytes of a GET from 127.0.0.1. */
export function watchRequest(path: string, token?: string): string {
  const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}\r\n`;
}

/** Many connections that end together. */
export class Crowd {
  readonly #held: HeldSocket[] = [];
  readonly #timers: NodeJS.Timeout[] = [];

  /** Opens `count` connections; `options` is called for each. */
  open(count: number, port: number, options: (index: number) => HoldOptions = () => ({})): void {
    for (let index = 0; index < count; index++) this.#held.push(hold(port, options(index)));
  }

  /** Opens `count` watches, `batch` at a time: one is opened when all before it have an answer. */
  async openInTurn(
    count: number,
    batch: number,
    port: number,
    options: (index: number) => HoldOptions,
  ): Promise<void> {
    for (let asked = 0; asked < count; asked += batch) {
      this.open(batch, port, (index) => options(asked + index));
      await eventually(
        () => this.count('HTTP/1.1 '),
        (answered) => answered === asked + batch,
        { what: 'an answer to each watch', timeoutMs: 30_000 },
      );
    }
  }

  /** Sends one byte on each connection every `everyMs`. */
  trickle(byte: string, everyMs: number): void {
    const tick = (): void => {
      for (const { socket } of this.#held) if (socket.writable) socket.write(byte);
    };
    this.#timers.push(setInterval(tick, everyMs));
  }

  /** Connections that have received this text. */
  count(text: string): number {
    return this.#held.filter(({ received }) => received().includes(text)).length;
  }

  async close(): Promise<void> {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    for (const { socket } of this.#held) socket.destroy();
    await Promise.all(this.#held.splice(0).map(({ closed }) => closed));
  }
}
