import { isIP } from 'node:net';
import { z } from 'zod';
import { address, positive, seconds } from './setting-types.ts';

/** A DNS name (RFC 1123; a star may stand for its first label) or an IP address. */
const serverName = z
  .string()
  .max(253)
  .refine((name) => isIP(name) !== 0 || /^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(name), {
    message: 'is neither a DNS name nor an IP address',
  });

const path = z.string().min(1);

/** The https listener; absent: there is none. The certificate is read from files, or created at start. */
export const https = z
  .strictObject({
    listen: address.describe(
      'Address of the https listener. It may be any address, because callers authenticate themselves.',
    ),
    certFile: path
      .optional()
      .describe('Certificate with its intermediates, PEM. Changes of the file are followed.'),
    keyFile: path
      .optional()
      .describe('Key of the certificate, PEM. Changes of the file are followed.'),
    selfSigned: z
      .strictObject({
        caFile: path.describe(
          "File to which the wrapper writes the CA certificate, for kube-proxy's kubeconfig.",
        ),
        keyFile: path
          .optional()
          .describe(
            'File that keeps the certificate and the key over a restart (mode 0600). If absent, the key is never written.',
          ),
        names: z
          .array(serverName)
          .default([])
          .describe(
            'Further names of the certificate, besides localhost, 127.0.0.1, ::1 and the address of `listen`.',
          ),
      })
      .optional()
      .describe('Create a certificate at start instead of reading it from files.'),
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
      .describe(
        'Cached callers: at most this many with a permission, and this many with a denial.',
      ),
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
  })
  .superRefine(({ certFile, keyFile, selfSigned }, context) => {
    const files = certFile !== undefined && keyFile !== undefined;
    const noFiles = certFile === undefined && keyFile === undefined;
    if (selfSigned === undefined ? files : noFiles) return;
    context.addIssue({
      code: 'custom',
      message: 'needs either certFile and keyFile, or selfSigned',
    });
  });

export type HttpsSettings = z.output<typeof https>;
