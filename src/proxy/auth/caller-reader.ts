import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { WrapperError } from '../../errors.ts';
import type { Caller } from './access-policy.ts';

/** Its header is a JSON object, so it begins with `{"`. */
const JSON_WEB_TOKEN = /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/;

/** Reads the caller of an https request from its token or its client certificate. */
export class CallerReader {
  /** Random for each process, so that an id is useless outside of it. */
  readonly #salt = randomBytes(32);

  /**
   * The caller of a request. A token takes precedence over a certificate, because only a token can be forwarded.
   * Throws `Unauthorized` if there is neither.
   */
  read(request: IncomingMessage): Exclude<Caller, { kind: 'anyone' }> {
    const { authorization } = request.headers;
    if (authorization !== undefined) return this.#tokenOf(authorization);
    const socket = request.socket as TLSSocket;
    const certificate = socket.getPeerCertificate();
    if (Object.keys(certificate).length === 0) {
      throw unauthorized('there is neither a bearer token nor a client certificate');
    }
    if (!socket.authorized) {
      throw unauthorized(`the client certificate is not accepted: ${socket.authorizationError}`);
    }
    return this.#ownerOf(certificate);
  }

  /**
   * To an API server, "Bearer" without a token or with two spaces before it is an anonymous request. It removes spaces of
   * Unicode at the end, so bytes beyond ASCII would be further spellings of one token.
   */
  #tokenOf(authorization: string): Extract<Caller, { kind: 'token' }> {
    const [, token] = /^Bearer ([\x21-\x2b\x2d-\x7e]+)$/i.exec(authorization) ?? [];
    if (token === undefined) throw unauthorized('the Authorization header is not a bearer token');
    return { kind: 'token', authorization, id: this.#id('token', canonicalToken(token)) };
  }

  /** As apiserver/pkg/authentication/request/x509 CommonNameUserConversion. */
  #ownerOf({ subject, valid_to }: PeerCertificate): Extract<Caller, { kind: 'certificate' }> {
    // TLS checked it when the connection opened, which may be long ago.
    if (Date.now() > Date.parse(valid_to)) throw unauthorized('the client certificate has expired');
    const { CN: user, O: groups = [] } = subject as {
      CN?: string | string[];
      O?: string | string[];
    };
    if (typeof user !== 'string' || user === '') {
      throw unauthorized('the client certificate has no common name, or several');
    }
    const names = [groups].flat();
    return {
      kind: 'certificate',
      user,
      groups: names,
      id: this.#id('certificate', JSON.stringify([user, names])),
    };
  }

  #id(kind: string, proof: string): string {
    return createHmac('sha256', this.#salt).update(`${kind} ${proof}`).digest('base64url');
  }
}

/**
 * One spelling for all that an API server takes for the same token: otherwise one caller would have many quotas. It
 * decodes the three parts of a JSON web token, and ignores the unused bits of their last characters (parseSignedCompact
 * in go-jose/jws.go: Go's base64 is not strict).
 */
function canonicalToken(token: string): string {
  if (!JSON_WEB_TOKEN.test(token)) return token;
  const parts = token.split('.');
  return parts.map((part) => Buffer.from(part, 'base64url').toString('base64url')).join('.');
}

function unauthorized(message: string): WrapperError {
  return new WrapperError('Unauthorized', message);
}
