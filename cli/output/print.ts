import { paint } from './colour.ts';
import { formatData } from './format-output.ts';
import type { OutputFlags, Report } from './report.ts';

/*
 * The room `output`: how commands print what they found. It reads nothing.
 *   report.ts, print.ts            a report, and its printing in the format of -o
 *   format-output.ts, colour.ts    columns; the colours of lines
 *   status-text.ts                 the lines of a status
 *   format-problems.ts             the problems of one Service, or of many
 */

/** Prints a report on standard output, as fast as its reader reads. */
export async function printReport(
  report: Report,
  { output, headers = true }: OutputFlags,
): Promise<void> {
  const isData = output === 'json' || output === 'yaml';
  const text = isData
    ? formatData(report.data, output)
    : paint(report.text({ wide: output === 'wide', headers }));
  // pipeline() leaves listeners behind at each call. An error is for endWithReader().
  await new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));
}
