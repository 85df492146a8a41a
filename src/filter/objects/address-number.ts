/*
 * Addresses as numbers, so that the endpoints of a Service can be compared without keeping their texts. As in
 * kube-proxy (ParseIPSloppy), two ways to write an address mean one address.
 */

import { shortForm } from '../../util/address.ts';

const DOT = 46;
const ZERO = 48;
const NINE = 57;
/** Hashes are not below, so that none is the number of an IPv4 address. */
const FIRST_HASH = 2 ** 32;

/**
 * A number that stands for an IP address. An IPv4 address has its own number. Any other text has a hash of 52 bits: of
 * 10,000 addresses, two share one about once in 10⁸ times.
 */
export function addressNumber(text: string): number {
  return ipv4Number(text) ?? hashOf(shortForm(text));
}

/** The number of an IPv4 address, signed: V8 stores such numbers without an object. Undefined: it is not one. */
function ipv4Number(text: string): number | undefined {
  let address = 0;
  let part = -1;
  let dots = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= ZERO && code <= NINE) {
      part = (part < 0 ? 0 : part * 10) + code - ZERO;
      if (part > 255) return undefined;
      continue;
    }
    if (code !== DOT || part < 0 || ++dots > 3) return undefined;
    address = (address << 8) | part;
    part = -1;
  }
  return dots === 3 && part >= 0 ? (address << 8) | part : undefined;
}

/** Two multiplicative hashes of 32 and 20 bits, from {@link FIRST_HASH} on. */
function hashOf(text: string): number {
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 2654435761);
    high = Math.imul(high ^ code, 1597334677);
  }
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return FIRST_HASH * (1 + (high & 0xfffff)) + (low >>> 0);
}
