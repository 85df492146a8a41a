import { isIP } from 'node:net';
import { z } from 'zod';
import { WrapperError } from '../errors.ts';
import type { Address } from '../proxy/util/address.ts';

/** `<ip>:<port>`, an IPv6 address in brackets. */
export const address = z
  .string()
  .meta({ pattern: '^(\\[[0-9a-fA-F:.]+\\]|[0-9]{1,3}(\\.[0-9]{1,3}){3}):[0-9]{1,5}$' })
  .transform(parseAddress);

/** An address, or `none`. assertLoopback checks later that it is a loopback address. */
export const optionalLoopback = z
  .string()
  .meta({ pattern: '^(none|(\\[::1\\]|127(\\.[0-9]{1,3}){3}):[0-9]{1,5})$' })
  .transform((text, context) => (text === 'none' ? undefined : parseAddress(text, context)));

export const positive = z.number().int().positive();

/** A timer of Node.js cannot wait longer than 2³¹ ms: it would fire immediately. */
export const seconds = positive.max(2_147_483);

/** Turns a parser that throws into a zod transform that reports the error. */
export function parsed<In, Out>(parse: (value: In) => Out) {
  return (value: In, context: z.RefinementCtx): Out => {
    try {
      return parse(value);
    } catch (error) {
      const { message } = WrapperError.from(error, 'InvalidSettings');
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }
  };
}

/** The URL of an API server. */
export const apiServer = z
  .string()
  .meta({ pattern: '^https?://' })
  .transform((text, context) => {
    const url = URL.parse(text);
    const plain = url !== null && /^https?:$/.test(url.protocol) && url.search + url.hash === '';
    if (plain && url.username + url.password === '') return url;
    const message = 'must be the URL of an API server, without a user';
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });

/** Absolute path of a unix socket, also as a `unix://` address. */
export const socketPath = z
  .string()
  .regex(/^(unix:\/\/)?\/./, 'must be an absolute path, or unix:// and one')
  .transform((text) => text.replace(/^unix:\/\//, ''));

/** Whether a host means all addresses of the machine, such as 0.0.0.0. */
export function isAnyHost(host: string): boolean {
  return /^[0:.]+$/.test(host);
}

/** Whether the same connection could reach both addresses. */
export function overlap(one: Address, other: Address): boolean {
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
