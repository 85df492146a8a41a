import { type Call, EXIT } from './command.ts';
import type { Report } from './output/report.ts';
import { readStatus, type WrapperStatus } from './status/read-status.ts';
import { formatStatus } from './status/status-text.ts';
import { watchChanges } from './watch-changes.ts';

/** Executes `status`. */
export async function executeStatus({ flags, session }: Call): Promise<number> {
  const admin = await session.openAdmin(flags);
  try {
    if (flags.watch !== true) {
      const status = await readStatus(admin);
      await session.print(statusReport(status), flags);
      return statusCode(status);
    }
    let last = '';
    await watchChanges(session, async () => {
      const status = await readStatus(admin);
      const { data, ...content } = status;
      const now = JSON.stringify([content, data?.unreachableSince]);
      if (now === last) return;
      last = now;
      const time: Report = { data: null, text: () => `--- ${new Date().toISOString()}\n` };
      await session.print(time, {});
      await session.print(statusReport(status), flags);
    });
    return EXIT.ok;
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
