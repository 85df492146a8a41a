import type { Credentials, RequestHeaders } from '../../src/client/credentials/credentials.ts';

/** Whom a command acts as: the flags --as and --as-group. */
export interface Impersonation {
  readonly as?: string | undefined;
  readonly asGroup?: readonly string[] | undefined;
}

/** Adds to credentials the headers that make the API server take the caller for another user (Impersonate-User). */
export function impersonating(
  credentials: Credentials,
  { as, asGroup }: Impersonation,
): Credentials {
  if (as === undefined) return credentials;
  return {
    get servers() {
      return credentials.servers;
    },
    // Over HTTP/2 undici joins several headers of one name with commas, and the API server takes that for one group.
    tls: () => ({ ...credentials.tls(), ALPNProtocols: ['http/1.1'] }),
    async headers(): Promise<RequestHeaders> {
      const user = { ...(await credentials.headers()), 'impersonate-user': as };
      return asGroup === undefined ? user : { ...user, 'impersonate-group': [...asGroup] };
    },
    onTlsChange: (listener) => credentials.onTlsChange(listener),
    refresh: () => credentials.refresh(),
    close: () => credentials.close(),
  };
}
