import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** Whose identity the API server sees: ours, or that of the caller with all it sent to prove it. */
export type Identity = 'own' | 'caller';

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

/** How a body ends. Connection may list these too; to cut them would let a body pass for the next request. */
const FRAMING = ['content-length', 'transfer-encoding'] as const;

/** Answered or set here: our server has answered an Expect, and the host is that of the API server. */
const REPLACED = new Set(['expect', 'host']);

/** Claims of who sent a request, or from where, which the API server believes a front proxy or writes to its audit log. */
const CLAIM = /^(x-remote-|x-forwarded-|forwarded$|x-real-ip$)/;

/**
 * What proves a caller's identity, or asks for another one (apiserver authentication/request, impersonation).
 * Connection may list these too; to cut them would make somebody else of the caller.
 */
const PROOF = /^(authorization$|impersonate-|cookie$|sec-websocket-protocol$)/;

/** Each of these is a group, a value or a version of its own; joined they would be another one. */
const REPEATED = /^(impersonate-|x-stream-protocol-version$)/;

/** The headers to send to the API server for a caller's request; `own` authenticate us. */
export function requestHeaders(
  { headers, headersDistinct }: Pick<IncomingMessage, 'headers' | 'headersDistinct'>,
  options: {
    readonly identity: Identity;
    readonly own: Readonly<Record<string, string>>;
    readonly host: string;
    /** Whether the protocol is to be switched. */
    readonly upgrade: boolean;
  },
): IncomingHttpHeaders {
  const sent = endToEnd(headers);
  for (const name of Object.keys(sent)) {
    if (REPEATED.test(name)) sent[name] = headersDistinct[name];
    const stripped = REPLACED.has(name) || CLAIM.test(name);
    if (stripped || (options.identity === 'own' && PROOF.test(name))) delete sent[name];
  }
  for (const name of FRAMING) {
    const value = headers[name];
    if (value !== undefined) sent[name] = value;
  }
  if (options.upgrade) Object.assign(sent, { connection: 'Upgrade', upgrade: headers.upgrade });
  return { ...sent, ...options.own, host: options.host };
}

/** The headers to answer a caller with. How the body ends is settled anew, unless its length is known. */
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
