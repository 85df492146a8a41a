import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { WrapperError } from '../../../errors.ts';
import { createHttpClient } from '../../client/http-client.ts';
import type { KernelTable } from './kernel-table.ts';
import { parseIptables } from './parse-iptables.ts';
import { parseIpvs, parseProcIpvs } from './parse-ipvs.ts';
import { parseNftables } from './parse-nftables.ts';

/** Modes of kube-proxy. */
export const MODES = ['nftables', 'iptables', 'ipvs'] as const;
export type Mode = (typeof MODES)[number];

const run = promisify(execFile);
/** 10,000 Services with 10 endpoints are about 50 MB of iptables rules, and more of JSON. */
const MAX_BYTES = 1024 * 1024 * 1024;
/** Limits of kube-proxy's response about its mode. */
const MODE_LIMITS = { timeoutMs: 2_000, maxBytes: 1024 } as const;

/** Reads the tables that kube-proxy wrote. Throws if the tool is missing or has no permission. */
export async function readKernelTable(mode: Mode): Promise<KernelTable> {
  if (mode === 'ipvs') return readIpvs();
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
    const { message } = WrapperError.from(error, 'Unreachable');
    if (message.includes('No such file or directory') && !message.includes('ENOENT')) {
      return new Map();
    }
    throw error;
  }
}

async function readIpvs(): Promise<KernelTable> {
  try {
    return parseIpvs(await read('ipvsadm', ['-Ln']));
  } catch {
    return parseProcIpvs(await readFile('/proc/net/ip_vs', 'utf8'));
  }
}

/**
 * The mode that kube-proxy reports itself, else the first mode with a table; undefined: there is neither.
 *
 * @param metricsUrl URL of kube-proxy's metrics port
 */
export async function detectMode(metricsUrl: string): Promise<Mode | undefined> {
  const reported = await requestMode(metricsUrl);
  if (reported !== undefined) return reported;
  for (const mode of MODES) {
    const table = await readKernelTable(mode).catch(() => undefined);
    if (table !== undefined && table.size > 0) return mode;
  }
  return undefined;
}

async function requestMode(metricsUrl: string): Promise<Mode | undefined> {
  const client = createHttpClient(metricsUrl, MODE_LIMITS);
  try {
    const { text } = await client.get('/proxyMode');
    return MODES.find((mode) => mode === text.trim());
  } catch {
    return undefined;
  } finally {
    await client.close();
  }
}

async function read(command: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run(command, args, { maxBuffer: MAX_BYTES });
    return stdout;
  } catch (cause) {
    const { message } = WrapperError.from(cause, 'Unreachable');
    const lines = message.split('\n').filter((line) => line.trim() !== '');
    const reason = lines.find((line) => line.startsWith('Error')) ?? lines.at(-1) ?? 'failed';
    throw new WrapperError('Unreachable', `${command}: ${reason}`, { cause });
  }
}
