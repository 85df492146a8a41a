import { isIP, type TcpNetConnectOpts } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { TlsOptions } from '../credentials/credentials.ts';
import { ADDRESSING } from '../util/dns-lookup.ts';

/**
 * Connects to a server and offers HTTP/2 and HTTP/1.1 (ALPN, RFC 7301). The socket's `alpnProtocol` is the server's
 * choice; without one it speaks HTTP/1.1. Rejects if that takes longer than `ms` milliseconds.
 *
 * @param onSocket called with the socket before it is connected
 */
export async function connectTls(
  server: URL,
  options: {
    readonly tls: TlsOptions;
    readonly ms: number;
    readonly onSocket: (socket: TLSSocket) => void;
  },
): Promise<TLSSocket> {
  const host = server.hostname.replace(/^\[|\]$/g, '');
  const where: ConnectionOptions & TcpNetConnectOpts = {
    ...ADDRESSING,
    host,
    port: Number(server.port || 443),
    noDelay: true,
    ALPNProtocols: ['h2', 'http/1.1'],
    // RFC 6066: an address is not a server name.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...options.tls,
  };
  const socket = connect(where);
  options.onSocket(socket);
  const late = new Error(`no connection within ${options.ms / 1000} s`);
  const timer = setTimeout(() => socket.destroy(late), options.ms);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve);
      // This listener is never removed: an error after the handshake is also that of the session or request on the socket.
      socket.on('error', reject);
      socket.once('close', () => reject(new Error('the connection was closed')));
    });
    return socket;
  } finally {
    clearTimeout(timer);
  }
}
