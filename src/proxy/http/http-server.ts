import { createServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Server as TlsServer } from 'node:tls';
import type { ListenerLimits } from './listener-limits.ts';
import type { ServerCertificate } from './server-certificate.ts';

/** Creates Node's server with our limits: for https with a certificate, else for http. */
export function createHttpServer(
  limits: ListenerLimits,
  keepAliveMs: number,
  certificate: ServerCertificate | undefined,
): Server {
  const common: ServerOptions = {
    keepAliveTimeout: keepAliveMs,
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: Math.min(5_000, limits.headersTimeoutMs / 2),
    insecureHTTPParser: false,
    // An upgrade is a request like any other, which is answered in HTTP/1.1 (RFC 9110, 7.8).
    shouldUpgradeCallback: () => false,
  };
  const server =
    certificate === undefined
      ? createServer(common)
      : createTlsServer({
          ...common,
          ...certificate.options(),
          handshakeTimeout: limits.headersTimeoutMs,
        });
  // Node would drop headers beyond a number without an error. Their bytes are limited instead.
  server.maxHeadersCount = 0;
  return server;
}

/** Sets the certificate on the server each time it changes; returns a function that stops this. */
export function followCertificate(server: Server, certificate: ServerCertificate): () => void {
  return certificate.onChange(() => {
    // setSecureContext throws for options that cannot be used. These have been checked.
    (server as unknown as TlsServer).setSecureContext(certificate.options());
  });
}
