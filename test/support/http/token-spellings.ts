import { generateKeyPairSync, sign } from 'node:crypto';

const { privateKey } = generateKeyPairSync('ed25519');
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** The 64 Authorization headers that an API server takes for the same token. */
export function bearerSpellings(token: string): string[] {
  return Array.from({ length: 64 }, (_, bits) => {
    const letters = [...'bearer'].map((each, at) => ((bits >> at) & 1 ? each.toUpperCase() : each));
    return `${letters.join('')} ${token}`;
  });
}

/** 64 tokens of one user of the HttpsWrapper. */
export function tokensOf(user: string): string[] {
  return Array.from({ length: 64 }, (_, index) => `${user}/${index}`);
}

/** A signed JSON web token. Its signature has 64 bytes, so that its last character has four unused bits. */
export function jsonWebToken(subject: string): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${encode({ alg: 'EdDSA' })}.${encode({ sub: subject })}`;
  return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`;
}

/** The 16 spellings of the signature of a {@link jsonWebToken}, the usual one first. */
export function jwtSpellings(token: string): string[] {
  const last = BASE64URL.indexOf(token.slice(-1));
  return Array.from({ length: 16 }, (_, bits) => token.slice(0, -1) + BASE64URL[last + bits]);
}
