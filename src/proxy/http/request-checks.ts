import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { TLSSocket } from 'node:tls';
import { WrapperError } from '../../errors.ts';

/**
 * Throws `Forbidden` for what only a browser sends to a port of its own machine on behalf of a web page: a
 * Host that is a name (DNS rebinding: the page's name was pointed at us, so the browser takes us for its
 * origin), or an Origin or Sec-Fetch-Site of another origin. No answer of ours has CORS headers.
 */
export function assertLocalRequest(request: IncomingMessage): void {
  assertAddressedByIp(request);
  assertSameOrigin(request);
}

/** Throws `Forbidden` when the request comes from a web page of another origin (Fetch, section 3.2). */
export function assertSameOrigin({ headers, socket }: IncomingMessage): void {
  const { origin, host = '' } = headers;
  const scheme = socket instanceof TLSSocket ? 'https' : 'http';
  const site = headers['sec-fetch-site'];
  const sameOrigin = origin === undefined || origin === `${scheme}://${host}`;
  const sameSite = site === undefined || site === 'none' || site === 'same-origin';
  if (sameOrigin && sameSite) return;
  throw new WrapperError('Forbidden', 'cross-origin requests are not answered');
}

function assertAddressedByIp({ headers }: IncomingMessage): void {
  const { host = '' } = headers;
  const [, v6, other = ''] = /^(?:\[([^\]]+)\]|([^:]+))(?::[0-9]{1,5})?$/.exec(host) ?? [];
  const isAddress = v6 === undefined ? isIP(other) === 4 : isIP(v6) === 6;
  if (isAddress || other.toLowerCase() === 'localhost') return;
  throw new WrapperError(
    'Forbidden',
    `the Host header ${JSON.stringify(host.slice(0, 100))} is neither an IP address nor localhost`,
  );
}

/**
 * Throws `BadRequest` for a request whose end or addressee another server could see elsewhere than we do.
 * Node's parser refuses most of those; it lets pass an HTTP/1.0 request that is chunked, encodings before
 * `chunked`, and a second Host.
 */
export function assertNoRequestSmuggling(request: IncomingMessage): void {
  const { headers, rawHeaders } = request;
  const encoding = headers['transfer-encoding'];
  const plain = encoding === undefined || encoding.toLowerCase() === 'chunked';
  if (!plain || (encoding !== undefined && request.httpVersion !== '1.1')) {
    throw new WrapperError('BadRequest', 'of transfer encodings only chunked of HTTP/1.1 is known');
  }
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name));
  if (hosts.length > 1) throw new WrapperError('BadRequest', 'there is more than one Host header');
}
