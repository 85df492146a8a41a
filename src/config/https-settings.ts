import { z } from 'zod';
import { address, positive, seconds } from './setting-types.ts';

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
  allowedSeconds: seconds
    .default(30)
    .describe('How long a permission from the API server is cached.'),
  deniedSeconds: seconds.default(5).describe('How long a denial from the API server is cached.'),
  maxCallers: positive
    .default(256)
    .describe('Cached callers: at most this many with a permission, and this many with a denial.'),
  maxReviews: positive
    .default(16)
    .describe('Access reviews of new callers at the same time. One more caller gets 503.'),
  maxForwardedRequests: positive
    .default(128)
    .describe(
      'Requests that are forwarded to the API server at the same time, including watches, logs and exec. One more gets 429.',
    ),
  maxForwardedRequestsPerCaller: positive
    .default(32)
    .describe('Forwarded requests of one token at the same time. One more gets 429.'),
});

export type HttpsSettings = z.output<typeof https>;
