import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { WrapperError } from '../../errors.ts';
import { isLoopback } from '../../util/address.ts';

/**
 * Throws `Forbidden` for a request that a browser sends to its own machine for a web page. Such a request has an
 * Origin or a Sec-Fetch-Site of another origin, or a Host that is not our address. With a name, DNS rebinding is
 * possible: the name of the page resolves to us, so the browser treats us as the origin of the page. A browser also
 * reaches us at 0.0.0.0, which some do not treat as this machine. We never send CORS headers.
 */
export function assertLocalRequest(request: IncomingMessage): void {
  assertAddressedToUs(request);
  assertSameOrigin(request);
}

/** Throws `Forbidden` if the request comes from a web page of another origin (Fetch, section 3.2). */
function assertSameOrigin({ headers }: IncomingMessage): void {
  const { origin, host = '' } = headers;
  const site = headers['sec-fetch-site'];
  const sameOrigin = origin === undefined || origin === `http://${host}`;
  const sameSite = site === undefined || site === 'none' || site === 'same-origin';
  if (sameOrigin && sameSite) return;
  throw new WrapperError('Forbidden', 'cross-origin requests are not answered');
}

function assertAddressedToUs({ headers, socket }: IncomingMessage): void {
  const { host = '' } = headers;
  const [, v6, other = ''] = /^(?:\[([^\]]+)\]|([^:]+))(?::[0-9]{1,5})?$/.exec(host) ?? [];
  const address = v6 === undefined ? isIP(other) === 4 && other : isIP(v6) === 6 && v6;
  if (other.toLowerCase() === 'localhost') return;
  // A dual-stack socket has the IPv4 addresses as ::ffff:192.0.2.1. kubelet probes the address of the node.
  const own = socket.localAddress?.replace(/^::ffff:(?=[0-9.]+$)/, '');
  if (address !== false && (isLoopback(address) || address === own)) return;
  throw new WrapperError(
    'Forbidden',
    `the Host header ${JSON.stringify(host.slice(0, 100))} is neither localhost, a loopback address nor the address that the connection is to`,
  );
}

/**
 * Throws `BadRequest` for a request that another server could read differently: where it ends, or which host it is
 * for (RFC 9112, section 11.2). Node's parser refuses most of them. It accepts a chunked HTTP/1.0 request, encodings
 * before `chunked`, and a second Host.
 */
export function assertNoRequestSmuggling(request: IncomingMessage): void {
  const { headers, rawHeaders } = request;
  const encoding = headers['transfer-encoding'];
  const plain = encoding === undefined || encoding.toLowerCase() === 'chunked';
  if (!plain || (encoding !== undefined && request.httpVersion !== '1.1')) {
    throw new WrapperError(
      'BadRequest',
      'the only supported transfer encoding is chunked, in HTTP/1.1',
    );
  }
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name));
  if (hosts.length > 1) throw new WrapperError('BadRequest', 'there is more than one Host header');
}
