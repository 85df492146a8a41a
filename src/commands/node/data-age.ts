import type { ResponseHead } from '../../admin/health/version-info.ts';
import { printLine } from '../../untrusted-text.ts';

/** A line for a terminal if the data of a response is old, else nothing. Wrappers before 1.1 do not report its age. */
export function formatStaleness({ data }: Partial<ResponseHead>): string {
  return data?.warning === undefined ? '' : printLine(`! ${data.warning}`);
}
