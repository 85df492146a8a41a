/*
 * Addresses as numbers, so that the endpoints of a Service can be compared without keeping their texts. As in
 * kube-proxy (ParseIPSloppy), two ways to write an address mean one address.
 */

const DOT = 46;
const COLON = 58;
const ZERO = 48;
const NINE = 57;
/** Hashes are not below, so that none is the number of an IPv4 address. */
const FIRST_HASH = 2 ** 32;

/**
 * A number that stands for an IP address. An IPv4 address has its own number. Any other text has a hash of 52 bits: of
 * 10,000 addresses, two share one about once in 10⁸ times.
 */
export function addressNumber(text: string): number {
  const ipv4 = ipv4Number(text, 0);
  if (ipv4 !== undefined) return ipv4;
  return parseIpv6(text) ? hashOfGroups(GROUPS) : hashOfGroups(Buffer.from(text));
}

/** The number of an IPv4 address, signed: V8 stores such numbers without an object. Undefined: it is not one. */
function ipv4Number(text: string, start: number): number | undefined {
  let address = 0;
  let part = -1;
  let dots = 0;
  for (let at = start; at < text.length; at++) {
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

/** The groups of the last address that {@link parseIpv6} has read. */
const GROUPS = new Uint16Array(8);

/** Reads an IPv6 address into {@link GROUPS}, and returns whether it is one. */
function parseIpv6(text: string): boolean {
  let count = 0;
  /** Number of groups before `::`; -1: there was none. */
  let gap = -1;
  let at = 0;
  if (text.startsWith('::')) {
    gap = 0;
    at = 2;
  }
  GROUPS.fill(0);
  while (at < text.length) {
    const start = at;
    let group = 0;
    for (let digit = hexDigit(text, at); digit >= 0; digit = hexDigit(text, ++at)) {
      group = group * 16 + digit;
    }
    if (text.charCodeAt(at) === DOT) {
      // The last 32 bits may be written as an IPv4 address.
      const ipv4 = ipv4Number(text, start);
      if (ipv4 === undefined || count > 6) return false;
      GROUPS[count++] = ipv4 >>> 16;
      GROUPS[count++] = ipv4;
      at = text.length;
      break;
    }
    if (at === start || at - start > 4 || count === 8) return false;
    GROUPS[count++] = group;
    if (at === text.length) break;
    if (text.charCodeAt(at++) !== COLON || at === text.length) return false;
    if (text.charCodeAt(at) !== COLON) continue;
    if (gap >= 0) return false;
    gap = count;
    at++;
  }
  if (gap < 0) return count === 8;
  if (count === 8) return false;
  GROUPS.copyWithin(8 - (count - gap), gap, count);
  GROUPS.fill(0, gap, 8 - (count - gap));
  return true;
}

/** The value of the hexadecimal digit at an offset; -1: there is none. */
function hexDigit(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= ZERO && code <= NINE) return code - ZERO;
  // Lower case.
  const letter = code | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

/** Two multiplicative hashes of 32 and 20 bits, from {@link FIRST_HASH} on. */
function hashOfGroups(groups: ArrayLike<number>): number {
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (let at = 0; at < groups.length; at++) {
    const group = groups[at] as number;
    low = Math.imul(low ^ group, 2654435761);
    high = Math.imul(high ^ group, 1597334677);
  }
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return FIRST_HASH * (1 + (high & 0xfffff)) + (low >>> 0);
}
