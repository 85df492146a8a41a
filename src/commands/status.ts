import { type Call, EXIT } from './command.ts';
import type { Report } from './output/report.ts';
import { readStatus, type WrapperStatus } from './status/read-status.ts';
import { formatStatus } from './status/status-text.ts';

/** Executes `status`. */
export async function executeStatus({ flags, session }: Call): Promise<number> {
  const admin = await session.openAdmin(flags);
  try {
    const status = await readStatus(admin);
    await session.print(statusReport(status), flags);
    return statusCode(status);
  } finally {
    admin.close();
  }
}

/** The screen about one wrapper. */
export function statusReport(status: WrapperStatus): Report {
  return { data: status, text: () => formatStatus(status) };
}

export function statusCode({ problems }: WrapperStatus): number {
  return problems.length === 0 ? EXIT.ok : EXIT.findings;
}
