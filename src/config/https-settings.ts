import { z } from 'zod';
import { address } from './setting-types.ts';

const path = z.string().min(1);

/** The https listener; absent: there is none. */
export const https = z.strictObject({
  listen: address.describe(
    'Address of the https listener. It may be any address, because callers authenticate themselves.',
  ),
  certFile: path.describe(
    'Certificate with its intermediates, PEM. Changes of the file are followed.',
  ),
  keyFile: path.describe('Key of the certificate, PEM. Changes of the file are followed.'),
  clientCaFile: path
    .optional()
    .describe(
      'CA of client certificates, PEM. Changes of the file are followed. If absent, callers need a token.',
    ),
});

export type HttpsSettings = z.output<typeof https>;
