import type { ResponseHead } from '../../src/diagnosis/reading/version-info.ts';
import { printLine } from '../../src/text/untrusted-text.ts';

/** A line for a terminal if the data of a response is old, else nothing. */
export function formatStaleness({ data }: ResponseHead): string {
  return data.warning === undefined ? '' : printLine(`! ${data.warning}`);
}
