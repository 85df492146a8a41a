import { isIP } from 'node:net';
import { z } from 'zod';
import { address, positive } from './setting-types.ts';

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
    /** Any address: callers bring their own identity. */
    listen: address,
    /** Certificate with its intermediates, PEM; followed. */
    certFile: path.optional(),
    /** Its key, PEM; followed. */
    keyFile: path.optional(),
    /** Makes a certificate at start, in place of the files. */
    selfSigned: z
      .strictObject({
        /** Where the certificate of its authority is written, for kube-proxy's kubeconfig. */
        caFile: path,
        /** Where certificate and key are kept (mode 0600) over a restart; absent: the key is never written. */
        keyFile: path.optional(),
        /** What clients call us, beside localhost, 127.0.0.1, ::1 and the address of `listen`. */
        names: z.array(serverName).default([]),
      })
      .optional(),
    /** Authorities of client certificates, PEM; followed. Absent: callers need a token. */
    clientCaFile: path.optional(),
    /** How long the API server's yes to a caller holds. */
    allowedSeconds: positive.default(30),
    /** How long its no holds. */
    deniedSeconds: positive.default(5),
    /** Callers that are remembered: so many that were let in, and so many that were not. */
    maxCallers: positive.default(256),
    /** Callers not known yet that the API server is asked about at once; one more gets 503. */
    maxReviews: positive.default(16),
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
