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

/** The https door; absent: there is none. The certificate is read from files, or made at start. */
export const https = z
  .strictObject({
    listen: address.describe('Any address: callers bring their own identity.'),
    certFile: path.optional().describe('Certificate with its intermediates, PEM; followed.'),
    keyFile: path.optional().describe('Its key, PEM; followed.'),
    selfSigned: z
      .strictObject({
        caFile: path.describe(
          "Where the certificate of its authority is written, for kube-proxy's kubeconfig.",
        ),
        keyFile: path
          .optional()
          .describe(
            'Where certificate and key are kept (mode 0600) over a restart; absent: the key is never written.',
          ),
        names: z
          .array(serverName)
          .default([])
          .describe(
            'What clients call us, beside localhost, 127.0.0.1, ::1 and the address of `listen`.',
          ),
      })
      .optional()
      .describe('Makes a certificate at start, in place of the files.'),
    clientCaFile: path
      .optional()
      .describe('Authorities of client certificates, PEM; followed. Absent: callers need a token.'),
    allowedSeconds: seconds
      .default(30)
      .describe("How long the API server's yes to a caller holds."),
    deniedSeconds: seconds.default(5).describe('How long its no holds.'),
    maxCallers: positive
      .default(256)
      .describe(
        'Callers that are remembered: so many that were let in, and so many that were not.',
      ),
    maxReviews: positive
      .default(16)
      .describe(
        'Callers not known yet that the API server is asked about at once; one more gets 503.',
      ),
    maxForwardedRequests: positive
      .default(128)
      .describe(
        'Requests that are forwarded to the API server at once, watches, logs and exec included; one more gets 429.',
      ),
    maxForwardedRequestsPerCaller: positive
      .default(32)
      .describe('The same of one token; one more gets 429.'),
  })
  .superRefine(({ certFile, keyFile, selfSigned }, context) => {
    const files = certFile !== undefined && keyFile !== undefined;
    const none = certFile === undefined && keyFile === undefined;
    if (selfSigned === undefined ? files : none) return;
    context.addIssue({
      code: 'custom',
      message: 'needs either certFile and keyFile, or selfSigned',
    });
  });

export type HttpsSettings = z.output<typeof https>;
