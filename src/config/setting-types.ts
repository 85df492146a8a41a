import { isIP } from 'node:net';
import { z } from 'zod';
import type { Address } from '../proxy/util/address.ts';

/** `<ip>:<port>`, an IPv6 address in brackets. */
export const address = z
  .string()
  .meta({ pattern: '^(\\[[0-9a-fA-F:.]+\\]|[0-9]{1,3}(\\.[0-9]{1,3}){3}):[0-9]{1,5}$' })
  .transform(parseAddress);

/** An address, or `none`; that it is a loopback one is checked where it is used (assertLoopback). */
export const optionalLoopback = z
  .string()
  .meta({ pattern: '^(none|(\\[::1\\]|127(\\.[0-9]{1,3}){3}):[0-9]{1,5})$' })
  .transform((text, context) => (text === 'none' ? undefined : parseAddress(text, context)));

export const positive = z.number().int().positive();

/** Timers cannot wait longer than 2³¹ ms, and would not wait at all. */
export const seconds = positive.max(2_147_483);

/** Whether a host stands for all addresses of the machine. */
export function isAnyHost(host: string): boolean {
  return /^[0:.]+$/.test(host);
}

/** Whether one connection could come to both addresses. */
export function meet(one: Address, other: Address): boolean {
  if (one.port !== other.port || one.port === 0) return false;
  return one.host === other.host || isAnyHost(one.host) || isAnyHost(other.host);
}

function parseAddress(text: string, context: z.RefinementCtx): Address {
  const [, v6, v4, port] = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const host = v6 ?? v4 ?? '';
  if (isIP(host) === 0 || Number(port) > 65_535) {
    context.addIssue({ code: 'custom', message: 'must be <ip>:<port>, e.g. 127.0.0.1:10360' });
    return z.NEVER;
  }
  return { host, port: Number(port) };
}
