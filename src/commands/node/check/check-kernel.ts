import { setTimeout as delay } from 'node:timers/promises';
import type { TableRow } from '../../../admin/explain/table.ts';
import { ok, problem, type StatusLine, unknown } from '../../../admin/status/status-line.ts';
import { messageOf } from '../../../util/message-of.ts';
import type { AdminClient } from '../../client/admin-client.ts';
import { readTable } from './check-wrapper.ts';
import { compareTables, type TableDifference } from './compare-tables.ts';
import { detectMode, type Mode, readKernelTable } from './read-kernel-table.ts';

export interface KernelFlags {
  /** `IP:PORT` of kube-proxy's metrics port, which serves its mode. */
  readonly kubeProxyMetrics: string;
  /** Absent: detected. */
  readonly mode?: Mode;
  /** Time for kube-proxy to write its tables, in seconds. */
  readonly wait: number;
}

const PAUSE_MS = 500;

/** Checks that the tables of the kernel match the view. */
export async function checkKernel(admin: AdminClient, flags: KernelFlags): Promise<StatusLine> {
  const mode = flags.mode ?? (await detectMode(flags.kubeProxyMetrics));
  if (mode === undefined) {
    return {
      ...unknown('kernel', 'no tables of kube-proxy can be read (nftables, iptables, ipvs)'),
      next: 'run check as root in the network namespace of kube-proxy, with nft or iptables-save installed; set --mode to see the error',
    };
  }
  const deadline = performance.now() + flags.wait * 1000;
  try {
    for (;;) {
      const { rows } = await readTable(admin);
      const differences = compareTables(rows, await readKernelTable(mode));
      const compared = rows.filter(({ truncated }) => !truncated).length;
      const rest = notCompared(rows);
      if (differences.length === 0)
        return ok(
          'kernel',
          `${mode}: all ${compared} Service addresses match what the wrapper shows${rest}`,
        );
      if (performance.now() >= deadline) return different(mode, compared, differences, rest);
      await delay(PAUSE_MS);
    }
  } catch (error) {
    return {
      ...unknown('kernel', `${mode}: ${messageOf(error)}`),
      next: 'run check as root in the network namespace of kube-proxy',
    };
  }
}

/** What is not compared; empty: nothing. */
function notCompared(rows: readonly TableRow[]): string {
  const truncated = rows.filter((row) => row.truncated);
  if (truncated.length === 0) return '';
  const services = [...new Set(truncated.map(({ service }) => service))];
  const more = services.length > 3 ? ` and ${services.length - 3} more` : '';
  return `; ${truncated.length} are not compared, because their Service has too many ports and endpoints: ${services.slice(0, 3).join(', ')}${more}`;
}

function different(
  mode: Mode,
  rows: number,
  differences: readonly TableDifference[],
  rest: string,
): StatusLine {
  const some = differences.slice(0, 3).map(describe);
  const more =
    differences.length > some.length ? `; and ${differences.length - some.length} more` : '';
  const [first] = differences;
  return problem(
    'kernel',
    `${mode}: ${differences.length} of ${rows} Service addresses differ from what the wrapper shows: ${some.join('; ')}${more}${rest}`,
    `check that kube-proxy runs and is connected to the wrapper; see its log and kube-proxy-wrapper explain ${first?.service}`,
  );
}

function describe({ service, target, missing, extra, known }: TableDifference): string {
  if (!known) return `${service} (${target}) is in no table`;
  const parts = [
    ...(missing.length > 0 ? [`has no ${missing.slice(0, 3).join(', ')}`] : []),
    ...(extra.length > 0 ? [`still has ${extra.slice(0, 3).join(', ')}`] : []),
  ];
  return `${service} (${target}) ${parts.join(' and ')}`;
}
