import { isIP } from 'node:net';
import * as z from 'zod/mini';
import { address, positive } from './setting-types.ts';

/** A DNS name (RFC 1123; a star may stand for its first label) or an IP address. */
const serverName = z.string().check(
  z.maxLength(253),
  z.refine((name) => isIP(name) !== 0 || /^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(name), {
    message: 'is neither a DNS name nor an IP address',
  }),
);

const path = z.string().check(z.minLength(1));

/** The https door; absent: there is none. The certificate is read from files, or made at start. */
export const https = z
  .strictObject({
    /** Any address: callers bring their own identity. */
    listen: address,
    /** Certificate with its intermediates, PEM; followed. */
    certFile: z.optional(path),
    /** Its key, PEM; followed. */
    keyFile: z.optional(path),
    /** Makes a certificate at start, in place of the files. */
    selfSigned: z.optional(
      z.strictObject({
        /** Where the certificate of its authority is written, for kube-proxy's kubeconfig. */
        caFile: path,
        /** Where certificate and key are kept (mode 0600) over a restart; absent: the key is never written. */
        keyFile: z.optional(path),
        /** What clients call us, beside localhost, 127.0.0.1, ::1 and the address of `listen`. */
        names: z._default(z.array(serverName), []),
      }),
    ),
    /** Authorities of client certificates, PEM; followed. Absent: callers need a token. */
    clientCaFile: z.optional(path),
    /** How long the API server's yes to a caller holds. */
    allowedSeconds: z._default(positive, 30),
    /** How long its no holds. */
    deniedSeconds: z._default(positive, 5),
    /** Callers that are remembered: so many that were let in, and so many that were not. */
    maxCallers: z._default(positive, 256),
    /** Callers not known yet that the API server is asked about at once; one more gets 503. */
    maxReviews: z._default(positive, 16),
  })
  .check(
    z.superRefine(({ certFile, keyFile, selfSigned }, context) => {
      const files = certFile !== undefined && keyFile !== undefined;
      const none = certFile === undefined && keyFile === undefined;
      if (selfSigned === undefined ? files : none) return;
      context.addIssue({
        code: 'custom',
        message: 'needs either certFile and keyFile, or selfSigned',
      });
    }),
  );

export type HttpsSettings = z.output<typeof https>;
