import { isIP } from 'node:net';
import { z } from 'zod';

/** `<ip>:<port>`, an IPv6 address in brackets. */
export const address = z.string().transform(parseAddress);

/** An address, or `none`. */
export const optionalAddress = z
  .string()
  .transform((text, context) => (text === 'none' ? undefined : parseAddress(text, context)));

export const positive = z.number().int().positive();

function parseAddress(text: string, context: z.RefinementCtx): { host: string; port: number } {
  const [, v6, v4, port] = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const host = v6 ?? v4 ?? '';
  if (isIP(host) === 0 || Number(port) > 65_535) {
    context.addIssue({ code: 'custom', message: 'must be <ip>:<port>, e.g. 127.0.0.1:10360' });
    return z.NEVER;
  }
  return { host, port: Number(port) };
}
