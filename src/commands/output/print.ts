import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Flags } from '../command-line/flags.ts';
import { paint, wantsColour } from './colour.ts';
import { type Report, renderReport } from './report.ts';

/** Prints a report on standard output, as fast as its reader reads. */
export async function printReport(report: Report, flags: Flags): Promise<void> {
  const isText = ['text', 'wide'].includes(String(flags.output ?? 'text'));
  const text = renderReport(report, flags);
  const colour = isText && wantsColour(process.stdout, process.env);
  await pipeline(Readable.from([colour ? paint(text) : text]), process.stdout, { end: false });
}
