import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { WrapperError } from '../../errors.ts';
import type { KernelTable } from './kernel-table.ts';
import { parseIptables } from './parse-iptables.ts';
import { parseIpvs, parseProcIpvs } from './parse-ipvs.ts';
import { parseNftables } from './parse-nftables.ts';

/** How a kube-proxy writes its tables. */
export const MODES = ['nftables', 'iptables', 'ipvs'] as const;
export type Mode = (typeof MODES)[number];

const run = promisify(execFile);
/** 10,000 Services of 10 endpoints are some 50 MB of iptables rules, and more of JSON. */
const MAX_BYTES = 1024 * 1024 * 1024;

/** Reads what kube-proxy wrote, and changes nothing. Throws when the tool is missing or not allowed. */
export async function readKernelTable(mode: Mode): Promise<KernelTable> {
  if (mode === 'ipvs') return readIpvs();
  const parts =
    mode === 'nftables'
      ? ['ip', 'ip6'].map((family) => readNftables(family))
      : [
          read('iptables-save', []).then(parseIptables),
          // A node of one family may lack the tool of the other.
          read('ip6tables-save', []).then(parseIptables, () => new Map<string, string[]>()),
        ];
  return new Map((await Promise.all(parts)).flatMap((table) => [...table]));
}

async function readNftables(family: string): Promise<KernelTable> {
  try {
    return parseNftables(await read('nft', ['-j', 'list', 'table', family, 'kube-proxy']));
  } catch (error) {
    // There is nft, but no table: kube-proxy has written nothing, or only for the other family.
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
 * The mode that kube-proxy says itself it runs in, else the one whose tables are there; undefined: none.
 *
 * @param metricsUrl where kube-proxy's metrics are
 */
export async function detectMode(metricsUrl: string): Promise<Mode | undefined> {
  const said = await askMode(metricsUrl);
  if (said !== undefined) return said;
  for (const mode of MODES) {
    const table = await readKernelTable(mode).catch(() => undefined);
    if (table !== undefined && table.size > 0) return mode;
  }
  return undefined;
}

async function askMode(metricsUrl: string): Promise<Mode | undefined> {
  try {
    const response = await fetch(`${metricsUrl}/proxyMode`, { signal: AbortSignal.timeout(2_000) });
    const text = (await response.text()).trim();
    return MODES.find((mode) => mode === text);
  } catch {
    return undefined;
  }
}

async function read(command: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run(command, args, { maxBuffer: MAX_BYTES });
    return stdout;
  } catch (cause) {
    const { message } = WrapperError.from(cause, 'Unreachable');
    const lines = message.split('\n').filter((line) => line.trim() !== '');
    const said = lines.find((line) => line.startsWith('Error')) ?? lines.at(-1) ?? 'failed';
    throw new WrapperError('Unreachable', `${command}: ${said}`, { cause });
  }
}
