import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { WrapperError } from '../../errors.ts';
import type { TokenCaller } from './access-policy.ts';

/** Its header is a JSON object, so it begins with `{"`. */
const JSON_WEB_TOKEN = /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/;

/** Reads the caller of an https request, by its token. */
export class CallerReader {
  /** Random for each process, so that an id is useless outside of it. */
  readonly #salt = randomBytes(32);

  /**
   * The caller of a request. Throws `Unauthorized` without a bearer token.
   *
   * To an API server, "Bearer" without a token or with two spaces before it is an anonymous request. It removes spaces
   * of Unicode at the end, so bytes beyond ASCII would be further spellings of one token.
   */
  read({ headers: { authorization } }: IncomingMessage): TokenCaller {
    if (authorization === undefined) {
      throw unauthorized('there is no bearer token; client certificates are not accepted');
    }
    const [, token] = /^Bearer ([\x21-\x2b\x2d-\x7e]+)$/i.exec(authorization) ?? [];
    if (token === undefined) throw unauthorized('the Authorization header is not a bearer token');
    const hmac = createHmac('sha256', this.#salt).update(canonicalToken(token));
    return { authorization, id: hmac.digest('base64url') };
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
