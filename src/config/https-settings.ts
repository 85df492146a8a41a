import * as v from 'valibot';
import { address, described, mapping, nonEmpty } from './setting-types.ts';

/** The https listener; absent: there is none. */
export const https = mapping({
  listen: described(
    address,
    'Address of the https listener. It may be any address, because callers authenticate themselves.',
  ),
  certFile: described(
    nonEmpty,
    'Certificate with its intermediates, PEM. Changes of the file are followed.',
  ),
  keyFile: described(nonEmpty, 'Key of the certificate, PEM. Changes of the file are followed.'),
  clientCaFile: described(
    v.optional(nonEmpty),
    'CA of client certificates, PEM. Changes of the file are followed. If absent, callers need a token.',
  ),
});

export type HttpsSettings = v.InferOutput<typeof https>;
