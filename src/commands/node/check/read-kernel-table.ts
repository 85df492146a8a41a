import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { WrapperError } from '../../../errors.ts';
import { boundedRequest } from '../../../proxy/util/bounded-request.ts';
import { messageOf } from '../../../util/message-of.ts';
import type { KernelTable } from './kernel-table.ts';
import { parseIptables } from './parse-iptables.ts';
import { parseIpvs } from './parse-ipvs.ts';
import { parseNftables } from './parse-nftables.ts';

/** Modes of kube-proxy. */
export const MODES = ['nftables', 'iptables', 'ipvs'] as const;
export type Mode = (typeof MODES)[number];

const run = promisify(execFile);
/** 10,000 Services with 10 endpoints are about 50 MB of iptables rules, and more of JSON. */
const MAX_BYTES = 1024 * 1024 * 1024;
/** Time for kube-proxy's response about its mode, in milliseconds. */
const MODE_MS = 2_000;

/** Reads the tables that kube-proxy wrote. Throws if the tool is missing or has no permission. */
export async function readKernelTable(mode: Mode): Promise<KernelTable> {
  if (mode === 'ipvs') return parseIpvs(await readFile('/proc/net/ip_vs', 'utf8'));
  const parts =
    mode === 'nftables'
      ? ['ip', 'ip6'].map((family) => readNftables(family))
      : [
          read('iptables-save', []).then(parseIptables),
          // A node with one address family may not have the tool of the other family.
          read('ip6tables-save', []).then(parseIptables, () => new Map<string, string[]>()),
        ];
  return new Map((await Promise.all(parts)).flatMap((table) => [...table]));
}

async function readNftables(family: string): Promise<KernelTable> {
  try {
    return parseNftables(await read('nft', ['-j', 'list', 'table', family, 'kube-proxy']));
  } catch (error) {
    // nft works, but the table does not exist: kube-proxy has written nothing, or only the other family.
    const message = messageOf(error);
    if (message.includes('No such file or directory') && !message.includes('ENOENT')) {
      return new Map();
    }
    throw error;
  }
}

/**
 * The mode that kube-proxy reports itself, else the first mode with a table; undefined: there is neither.
 *
 * @param metrics `IP:PORT` of kube-proxy's metrics port
 */
export async function detectMode(metrics: string): Promise<Mode | undefined> {
  const reported = await requestMode(metrics);
  if (reported !== undefined) return reported;
  for (const mode of MODES) {
    const table = await readKernelTable(mode).catch(() => undefined);
    if (table !== undefined && table.size > 0) return mode;
  }
  return undefined;
}

async function requestMode(metrics: string): Promise<Mode | undefined> {
  const { hostname, port } = new URL(`http://${metrics}`);
  const signal = AbortSignal.timeout(MODE_MS);
  const { body } = await boundedRequest({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 80),
    path: '/proxyMode',
    signal,
  });
  return MODES.find((mode) => mode === body.toString().trim());
}

async function read(command: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run(command, args, { maxBuffer: MAX_BYTES });
    return stdout;
  } catch (cause) {
    const lines = messageOf(cause)
      .split('\n')
      .filter((line) => line.trim() !== '');
    const reason = lines.find((line) => line.startsWith('Error')) ?? lines.at(-1) ?? 'failed';
    throw new WrapperError('Unreachable', `${command}: ${reason}`, { cause });
  }
}
