import { createServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
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
      : createSecureServer(certificate, common, limits.headersTimeoutMs);
  // Node would drop headers beyond a number without an error. Their bytes are limited instead.
  server.maxHeadersCount = 0;
  return server;
}

/** Its certificate is replaced when that changes. */
function createSecureServer(
  certificate: ServerCertificate,
  options: ServerOptions,
  handshakeTimeout: number,
): TlsServer {
  const server = createTlsServer({ ...options, ...certificate.options(), handshakeTimeout });
  // It throws for options that cannot be used. These have been checked.
  certificate.onChange(() => server.setSecureContext(certificate.options()));
  return server;
}
