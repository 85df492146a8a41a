import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { Duplex } from 'node:stream';

/** The server's end of a WebSocket. */
export interface ServerWebSocket extends EventEmitter<{ message: [Buffer]; close: [] }> {
  send(message: Buffer): void;
  close(): void;
  terminate(): void;
}

type Accept = (socket: ServerWebSocket) => void;

interface WebSocketServer {
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, accept: Accept): void;
}

// The WebSocket of client-node, with which cli/client/port-forward.ts connects. It has no types.
const { WebSocketServer } = createRequire(import.meta.url)('ws') as {
  readonly WebSocketServer: new (options: object) => WebSocketServer;
};

/** A kubelet knows this version, and not the newest that the client offers. */
const handleProtocols = () => 'v4.channel.k8s.io';
const server = new WebSocketServer({ noServer: true, handleProtocols });

/** Answers the handshake as a kubelet does. What `accept` sends arrives together with the answer. */
export function acceptWebSocket(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  accept: Accept,
): void {
  socket.cork();
  process.nextTick(() => socket.uncork());
  server.handleUpgrade(request, socket, head, accept);
}
