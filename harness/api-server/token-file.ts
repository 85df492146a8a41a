import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';

/** Who a token belongs to, for RBAC. */
export interface TokenUser {
  readonly user: string;
  /** Default: in no group. */
  readonly group?: string;
}

/**
 * Writes a new token for each user: lines of `token,user,uid,"groups"`, as kube-apiserver's --token-auth-file wants
 * them. Returns the tokens by the names of the users here, which are their uids.
 */
export function writeTokenFile<Name extends string>(
  path: string,
  users: Readonly<Record<Name, TokenUser>>,
): Readonly<Record<Name, string>> {
  const rows = Object.entries<TokenUser>(users).map(([name, { user, group }]) => {
    const token = randomBytes(16).toString('hex');
    const line = `${token},${user},${name}${group === undefined ? '' : `,"${group}"`}\n`;
    return { name, token, line };
  });
  writeFileSync(path, rows.map(({ line }) => line).join(''), { mode: 0o600 });
  return Object.fromEntries(rows.map(({ name, token }) => [name, token])) as Record<Name, string>;
}
