import type * as v from 'valibot';
import { address, described, mapping, nonEmpty } from './setting-types.ts';

/** The https listener; absent: there is none. */
export const https = mapping('https', {
  listen: described(
    address,
    'Address of the https listener. It may be any address, because callers need a token.',
  ),
  certFile: described(
    nonEmpty,
    'Certificate with its intermediates, PEM. Changes of the file are followed.',
  ),
  keyFile: described(nonEmpty, 'Key of the certificate, PEM. Changes of the file are followed.'),
});

export type HttpsSettings = v.InferOutput<typeof https>;
