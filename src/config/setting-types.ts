import { isIP } from 'node:net';
import * as z from 'zod/mini';

// zod's smaller half: the other one costs 10 MB of memory, and this one brings no messages by itself.
z.config(z.locales.en());

/** `<ip>:<port>`, an IPv6 address in brackets. */
export const address = z.pipe(z.string(), z.transform(parseAddress));

/** An address, or `none`. */
export const optionalAddress = z.pipe(
  z.string(),
  z.transform((text: string, context) =>
    text === 'none' ? undefined : parseAddress(text, context),
  ),
);

export const positive = z.int().check(z.positive());

function parseAddress(text: string, context: z.core.ParsePayload): { host: string; port: number } {
  const [, v6, v4, port] = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const host = v6 ?? v4 ?? '';
  if (isIP(host) === 0 || Number(port) > 65_535) {
    const message = 'must be <ip>:<port>, e.g. 127.0.0.1:10360';
    context.issues.push({ code: 'custom', message, input: text });
    return z.NEVER;
  }
  return { host, port: Number(port) };
}
