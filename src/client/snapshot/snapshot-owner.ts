import { X509Certificate } from 'node:crypto';
import type { ServerAccess } from '../credentials/credentials.ts';
import { certificatesIn } from '../system/pem.ts';
import { type SnapshotHeader, Untrusted } from './snapshot-format.ts';

/** Which Node wrote a snapshot, and from which cluster. */
export type SnapshotOwner = Pick<SnapshotHeader, 'node' | 'servers' | 'authorities'>;

/** The current owner. It takes nothing secret from it: addresses and fingerprints of authorities. */
export function ownerOf(node: string, serverAccess: ServerAccess): SnapshotOwner {
  const { ca } = serverAccess.tls();
  return {
    node,
    servers: serverAccess.servers.map(({ origin }) => origin).sort(),
    authorities: ca === undefined ? [] : fingerprints(ca.toString()),
  };
}

/**
 * Throws {@link Untrusted} if a snapshot is not ours. Ours has the same query, the same Node, at least one server in
 * common and at least one authority in common. So a rotated authority or one more server changes nothing. Another
 * cluster at the same address has another authority, and one with the same authority has another address.
 */
export function assertOurs(
  { question, node, servers, authorities }: SnapshotHeader,
  query: string,
  owner: SnapshotOwner,
): void {
  if (question !== query) throw foreign(`it answers ${JSON.stringify(question)}`);
  if (node !== owner.node) throw foreign(`it is of the node ${JSON.stringify(node)}`);
  if (!intersects(servers, owner.servers)) {
    throw foreign(`it came from ${servers.join(', ')}, not from ${owner.servers.join(', ')}`);
  }
  const none = authorities.length === 0 && owner.authorities.length === 0;
  if (none || intersects(authorities, owner.authorities)) return;
  throw foreign('it came from API servers of another certificate authority');
}

function foreign(message: string): Untrusted {
  return new Untrusted('foreign', message);
}

function fingerprints(pem: string): string[] {
  return certificatesIn(pem)
    .map((certificate) => new X509Certificate(certificate).fingerprint256)
    .sort();
}

function intersects(a: readonly string[], b: readonly string[]): boolean {
  return a.some((each) => b.includes(each));
}
