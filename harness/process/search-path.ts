import { delimiter } from 'node:path';

/** Where our children find their programs: in our PATH, and where Debian has those for root. */
export function searchPath(): string {
  return [process.env.PATH ?? '/usr/bin:/bin', '/usr/sbin', '/sbin'].join(delimiter);
}
