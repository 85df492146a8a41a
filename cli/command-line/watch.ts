import { setTimeout as delay } from 'node:timers/promises';
import { printLine } from '../../src/text/untrusted-text.ts';
import { messageOf } from '../../src/util/message-of.ts';
import { printReport } from '../output/print.ts';
import type { OutputFlags } from '../output/report.ts';
import type { Result } from './command.ts';

/** Time between two looks, in milliseconds. */
const INTERVAL_MS = 5_000;

export interface WatchFlags extends OutputFlags {
  readonly watch?: boolean;
}

/**
 * With --watch, prints a status again whenever it changes, until a signal ends the process. Only the last one is kept.
 * Resolves with the status without --watch. Rejects if the first look does; later failures are printed.
 *
 * @param signal ends the looks, for tests
 */
export async function watchStatus(
  find: () => Promise<Result>,
  flags: WatchFlags,
  { intervalMs = INTERVAL_MS, signal }: { intervalMs?: number; signal?: AbortSignal } = {},
): Promise<Result> {
  let result = await find();
  if (flags.watch !== true) return result;
  let last: string | undefined;
  while (signal?.aborted !== true) {
    const { report } = result;
    const now =
      report === undefined ? '' : withoutTimes(report.text({ wide: false, headers: true }));
    if (report !== undefined && now !== last) {
      if (last !== undefined) process.stdout.write('\n');
      await printReport(report, flags);
      last = now;
    }
    await delay(intervalMs, undefined, { signal }).catch(() => undefined);
    result = await find().catch((error: Error) => {
      process.stderr.write(printLine(messageOf(error)));
      return result;
    });
  }
  return { code: result.code };
}

/** Ages change with each look, and nothing else may have. */
function withoutTimes(text: string): string {
  return text.replaceAll(/\b\d+ (s|min|h|d)\b/g, '');
}
