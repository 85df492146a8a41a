import { setTimeout as delay } from 'node:timers/promises';
import { WrapperError } from '../../errors.ts';
import { compareTables, type TableDifference } from './compare-tables.ts';
import { detectMode, type Mode, readKernelTable } from './read-kernel-table.ts';
import { fail, ok, skip, type Verdict } from './verdict.ts';
import { readTable } from './check-wrapper.ts';

export interface KernelCheck {
  readonly adminUrl: string;
  /** Where kube-proxy's metrics are; it says there in which mode it runs. */
  readonly metricsUrl: string;
  /** Undefined: found out. */
  readonly mode: Mode | undefined;
  /** kube-proxy may take this long to write what it was told, in milliseconds. */
  readonly waitMs: number;
}

const PAUSE_MS = 500;

/** Whether the kernel sends connections where the view says. */
export async function checkKernel(options: KernelCheck): Promise<Verdict> {
  const mode = options.mode ?? (await detectMode(options.metricsUrl));
  if (mode === undefined) {
    return skip(
      'kernel',
      'no tables of a kube-proxy can be read (nftables, iptables, ipvs)',
      'run check as root in the network namespace of kube-proxy, with nft, iptables-save or ipvsadm installed; or give --mode to see why',
    );
  }
  const deadline = performance.now() + options.waitMs;
  try {
    for (;;) {
      const { rows } = await readTable(options.adminUrl);
      const differences = compareTables(rows, await readKernelTable(mode));
      if (differences.length === 0)
        return ok(
          'kernel',
          `${mode}: all ${rows.length} Service addresses are as the wrapper shows them`,
        );
      if (performance.now() >= deadline) return different(mode, rows.length, differences);
      await delay(PAUSE_MS);
    }
  } catch (error) {
    const { message } = WrapperError.from(error, 'Unreachable');
    return skip(
      'kernel',
      `${mode}: ${message}`,
      'run check as root in the network namespace of kube-proxy',
    );
  }
}

function different(mode: Mode, rows: number, differences: readonly TableDifference[]): Verdict {
  const some = differences.slice(0, 3).map(describe);
  const more =
    differences.length > some.length ? `; and ${differences.length - some.length} more` : '';
  const [first] = differences;
  return fail(
    'kernel',
    `${mode}: ${differences.length} of ${rows} Service addresses differ from what the wrapper shows: ${some.join('; ')}${more}`,
    `does kube-proxy run, is it connected through the wrapper, what does its log say? kube-proxy-wrapper explain ${first?.service}`,
  );
}

function describe({ service, target, missing, extra, known }: TableDifference): string {
  if (!known) return `${service} (${target}) is in no table`;
  const parts = [
    ...(missing.length > 0 ? [`lacks ${missing.slice(0, 3).join(', ')}`] : []),
    ...(extra.length > 0 ? [`still has ${extra.slice(0, 3).join(', ')}`] : []),
  ];
  return `${service} (${target}) ${parts.join(' and ')}`;
}
