import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { WrapperError } from '../../errors.ts';

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

/**
 * What proves a caller's identity, or asks for another one (apiserver authentication/request, impersonation).
 * Connection may list these too; to cut them would make somebody else of the caller.
 */
const PROOF = /^(authorization$|impersonate-|sec-websocket-protocol$)/;

/**
 * All that is sent on of a caller's headers; everything else is cut. An API server believes some (X-Remote-User of a
 * front proxy, Audit-ID, Traceparent), writes some to its audit log (X-Forwarded-For), and others are taken for more
 * by what may lie between (Via, X-HTTP-Method-Override, X-Original-URL).
 */
const SENT: Readonly<Record<Identity, RegExp>> = {
  own: /^(accept|content-type|user-agent)$/,
  caller:
    /^(accept|accept-encoding|authorization|cache-control|content-encoding|content-type|if-match|if-modified-since|if-none-match|if-unmodified-since|impersonate-(user|uid|group|extra-.+)|range|user-agent|x-stream-protocol-version)$/,
};

/** Sent on with a request to switch protocols too (RFC 6455 section 11.3). */
const SENT_WITH_UPGRADE = /^sec-websocket-(extensions|key|protocol|version)$/;

/** Characters of one header that is sent on: over https room for a token, over plain http for what kube-proxy sends. */
const MAX_VALUE_LENGTH: Readonly<Record<Identity, number>> = { own: 512, caller: 12 * 1024 };

/** Each of these is a group, a value or a version of its own; joined they would be another one. */
const REPEATED = /^(impersonate-|x-stream-protocol-version$)/;

/**
 * The headers to send to the API server for a caller's request; `own` authenticate us. Throws `LimitExceeded` (431)
 * for a value that is too long.
 */
export function requestHeaders(
  { headers, headersDistinct }: Pick<IncomingMessage, 'headers' | 'headersDistinct'>,
  options: {
    readonly identity: Identity;
    readonly own: Readonly<Record<string, string>>;
    readonly host: string;
    /** Whether the protocol is to be switched. */
    readonly upgrade: boolean;
    /** Replaces the Accept header. */
    readonly accept?: string | undefined;
    /** Of the body, where all of it is known; else it is framed as the caller has it. */
    readonly bodyLength?: number | undefined;
  },
): IncomingHttpHeaders {
  const { identity, own, host, upgrade, accept, bodyLength } = options;
  const sent = endToEnd(headers);
  for (const name of Object.keys(sent)) {
    const allowed = SENT[identity].test(name) || (upgrade && SENT_WITH_UPGRADE.test(name));
    if (!allowed) delete sent[name];
    else if (REPEATED.test(name)) sent[name] = headersDistinct[name];
  }
  if (accept !== undefined) sent.accept = accept;
  assertLengths(sent, MAX_VALUE_LENGTH[identity]);
  for (const name of FRAMING) {
    const value = headers[name];
    if (value !== undefined && bodyLength === undefined) sent[name] = value;
  }
  if (bodyLength !== undefined) sent['content-length'] = String(bodyLength);
  if (upgrade) Object.assign(sent, { connection: 'Upgrade', upgrade: headers.upgrade });
  return { ...sent, ...own, host };
}

function assertLengths(headers: IncomingHttpHeaders, max: number): void {
  for (const [name, value] of Object.entries(headers)) {
    if ([value ?? ''].flat().every((each) => each.length <= max)) continue;
    const message = `kube-proxy-wrapper: the header ${name} is longer than ${max} characters`;
    const status = { code: 431, reason: 'RequestHeaderFieldsTooLarge', message };
    throw new WrapperError('LimitExceeded', message, { status });
  }
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
