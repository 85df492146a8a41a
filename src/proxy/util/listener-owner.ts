import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { escapeUntrusted } from '../../untrusted-text.ts';
import type { Address } from '../../util/address.ts';
import { listeningSockets } from './proc-net-tcp.ts';

const MAX_COMMAND = 100;

/**
 * Who listens at an address, for a message: `process 7 (/usr/sbin/nginx -g)`. Only root sees the processes of other users: then
 * `a process of user 33`. Undefined if /proc does not tell.
 */
export function listenerOwner(address: Address): string | undefined {
  const [first] = listeningSockets(address);
  if (first === undefined) return undefined;
  const pid = processOf(`socket:[${first.inode}]`);
  if (pid === undefined) return `a process of user ${first.user}`;
  return `process ${pid} (${commandOf(pid)})`;
}

function processOf(socket: string): string | undefined {
  const pids = namesIn('/proc').filter((name) => /^[0-9]+$/.test(name));
  return pids.find((pid) => {
    const folder = `/proc/${pid}/fd`;
    return namesIn(folder).some((fd) => linkOf(`${folder}/${fd}`) === socket);
  });
}

/** Empty if the process has ended, or belongs to another user. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** The program and its first argument. Further ones may be secret. */
function commandOf(pid: string): string {
  try {
    const [program = '', first = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return escapeUntrusted(`${program} ${first}`.trim(), MAX_COMMAND);
  } catch {
    return 'it has ended';
  }
}
