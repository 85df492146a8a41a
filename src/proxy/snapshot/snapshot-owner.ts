import { X509Certificate } from 'node:crypto';
import type { Credentials } from '../credentials/credentials.ts';
import type { SnapshotHeader } from './snapshot-format.ts';

/** Which Node wrote a snapshot, and from which cluster. */
export type SnapshotOwner = Pick<SnapshotHeader, 'node' | 'servers' | 'authorities'>;

/** The current owner. It takes nothing secret from the credentials: addresses and fingerprints of authorities. */
export function ownerOf(node: string, credentials: Credentials): SnapshotOwner {
  const { ca } = credentials.tls();
  return {
    node,
    servers: credentials.servers.map(({ origin }) => origin).sort(),
    authorities: ca === undefined ? [] : fingerprints(ca.toString()),
  };
}

/**
 * Why a snapshot is not ours; undefined when it is. Ours has the same Node, at least one server in common and at
 * least one authority in common. So a rotated authority or one more server changes nothing. Another cluster at the
 * same address has another authority, and one with the same authority has another address.
 */
export function foreignTo(owner: SnapshotOwner, written: SnapshotOwner): string | undefined {
  if (written.node !== owner.node) return `it is of the node ${JSON.stringify(written.node)}`;
  if (!overlap(written.servers, owner.servers)) {
    return `it came from ${written.servers.join(', ')}, not from ${owner.servers.join(', ')}`;
  }
  const none = written.authorities.length === 0 && owner.authorities.length === 0;
  if (none || overlap(written.authorities, owner.authorities)) return undefined;
  return 'it came from API servers of another certificate authority';
}

function fingerprints(pem: string): string[] {
  const certificates =
    pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return certificates.map((each) => new X509Certificate(each).fingerprint256).sort();
}

function overlap(a: readonly string[], b: readonly string[]): boolean {
  return a.some((each) => b.includes(each));
}
