import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { WrapperError } from '../../errors.ts';

/** Meant for the next hop only (RFC 9110 section 7.6.1, RFC 2616 section 13.5.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** How a body ends. They stay even if Connection lists them: without them a body would pass for the next request. */
const FRAMING = ['content-length', 'transfer-encoding'] as const;

/**
 * Headers that prove a caller's identity, or request another one (apiserver authentication/request, impersonation).
 * They stay even if Connection lists them: without them the caller would have another identity.
 */
const PROOF = /^(authorization$|impersonate-)/;

/**
 * The caller's headers that are forwarded. All others are removed: an API server trusts some (X-Remote-User of a
 * front proxy, Audit-ID, Traceparent) and writes some to its audit log (X-Forwarded-For), and proxies on the way may
 * act on others (Via, X-HTTP-Method-Override, X-Original-URL).
 */
const FORWARDED =
  /^(accept|accept-encoding|authorization|cache-control|content-encoding|content-type|if-match|if-modified-since|if-none-match|if-unmodified-since|impersonate-(user|uid|group|extra-.+)|range|user-agent)$/;

/** Maximum length of one forwarded header: there is room for a token. */
const MAX_VALUE_LENGTH = 12 * 1024;

/** Headers that may occur repeatedly. Each one has a value of its own; joined they would be another value. */
const REPEATED = /^impersonate-/;

/**
 * The headers to send to the API server for a caller's request. Throws `LimitExceeded` (431) if a value is too long.
 */
export function requestHeaders(
  { headers, headersDistinct }: Pick<IncomingMessage, 'headers' | 'headersDistinct'>,
  options: {
    readonly host: string;
    /** Replaces the Accept header. */
    readonly accept?: string;
    /** Length of the body if it was read; otherwise the framing of the caller is kept. */
    readonly bodyLength?: number;
  },
): IncomingHttpHeaders {
  const { host, accept, bodyLength } = options;
  const sent = endToEnd(headers);
  for (const name of Object.keys(sent)) {
    if (!FORWARDED.test(name)) delete sent[name];
    else if (REPEATED.test(name)) sent[name] = headersDistinct[name];
  }
  if (accept !== undefined) sent.accept = accept;
  assertLengths(sent, MAX_VALUE_LENGTH);
  for (const name of FRAMING) {
    const value = headers[name];
    if (value !== undefined && bodyLength === undefined) sent[name] = value;
  }
  if (bodyLength !== undefined) sent['content-length'] = String(bodyLength);
  return { ...sent, host };
}

function assertLengths(headers: IncomingHttpHeaders, max: number): void {
  for (const [name, value] of Object.entries(headers)) {
    if ([value ?? ''].flat().every((each) => each.length <= max)) continue;
    const message = `the header ${name} is longer than ${max} characters`;
    const status = { code: 431, reason: 'RequestHeaderFieldsTooLarge' };
    throw new WrapperError('LimitExceeded', message, { status });
  }
}

/** The headers of the response to a caller. Our own server frames the body, unless its length is known. */
export function responseHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const { 'content-length': length } = headers;
  return { ...endToEnd(headers), ...(length === undefined ? {} : { 'content-length': length }) };
}

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const listed = (headers.connection ?? '').toLowerCase().split(',');
  const hop = new Set([...HOP_BY_HOP, ...listed.map((name) => name.trim())]);
  const stays = (name: string): boolean => PROOF.test(name) || !hop.has(name);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => stays(name)));
}
