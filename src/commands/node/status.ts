import type { NodeStatus } from '../../admin/status/status-line.ts';
import { printLine } from '../../untrusted-text.ts';
import { type Call, EXIT } from '../command-line/command.ts';
import type { Report } from '../output/report.ts';
import { formatVerdicts } from './check/verdict.ts';
import { readStatus } from './status/read-status.ts';
import { verdictOf } from './status/status-verdicts.ts';

/** Executes `status`. */
export async function executeStatus({ flags, session }: Call): Promise<number> {
  const admin = await session.openAdmin(flags);
  try {
    const status = await readStatus(admin);
    await session.print(statusReport(status), flags);
    return statusCode(status);
  } finally {
    await admin.close();
  }
}

export function statusReport(status: NodeStatus): Report {
  return { data: status, text: () => formatStatus(status) };
}

export function statusCode({ lines }: Pick<NodeStatus, 'lines'>): number {
  return lines.some(({ state }) => state === 'problem') ? EXIT.findings : EXIT.ok;
}

function formatStatus({ node, version, settings, dryRun, lines }: NodeStatus): string {
  const mode = dryRun ? ', DRY RUN: all endpoints are shown' : '';
  const about = `kube-proxy-wrapper ${version}, settings ${settings}${mode}`;
  return `${printLine(`node ${node}: ${about}`)}\n${formatVerdicts(lines.map(verdictOf))}`;
}
