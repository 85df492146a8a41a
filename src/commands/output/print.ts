import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { paint, wantsColour } from './colour.ts';
import { type OutputFlags, type Report, renderReport } from './report.ts';

/** Prints a report on standard output, as fast as its reader reads. */
export async function printReport(report: Report, flags: OutputFlags): Promise<void> {
  const text = renderReport(report, flags);
  const isData = flags.output === 'json' || flags.output === 'yaml';
  const colour = !isData && wantsColour(process.stdout, process.env);
  await pipeline(Readable.from([colour ? paint(text) : text]), process.stdout, { end: false });
}
