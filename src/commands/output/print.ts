import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Flags } from '../flags.ts';
import { paint, wantsColour } from './colour.ts';
import { type Report, renderReport } from './report.ts';

/** Prints a report on standard output, as fast as its reader reads. */
export async function printReport(report: Report, flags: Flags): Promise<void> {
  const isText = ['text', 'wide'].includes(String(flags.output ?? 'text'));
  const colour = isText && wantsColour(process.stdout, process.env);
  const parts = renderReport(report, flags);
  const painted = colour ? mapEach(parts, paint) : parts;
  await pipeline(Readable.from(painted), process.stdout, { end: false });
  if (!isText && report.remarks !== undefined) process.stderr.write(report.remarks);
}

function* mapEach(parts: Iterable<string>, change: (part: string) => string): Generator<string> {
  for (const part of parts) yield change(part);
}
