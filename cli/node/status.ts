import type { NodeStatus } from '../../src/admin/status/status-line.ts';
import { printLine } from '../../src/text/untrusted-text.ts';
import { type AdminFlags, withAdmin } from '../client/admin-client.ts';
import { type Call, EXIT, type Result } from '../command-line/command.ts';
import { type WatchFlags, watchStatus } from '../command-line/watch.ts';
import { formatStatusLines } from '../output/status-text.ts';

/*
 * The room `node`: the commands that ask the wrapper of this node. They change nothing, and compute nothing that the
 * wrapper knows.
 *   status.ts                              is it well?
 *   explain.ts, explain-text.ts,           what this node sees of a Service, and the differences of its objects
 *   diff-text.ts, data-age.ts
 */

export interface StatusFlags extends AdminFlags, WatchFlags {}

/** Executes `status`. */
export async function executeStatus({ flags }: Call<StatusFlags>): Promise<Result> {
  return await watchStatus(() => findStatus(flags), flags);
}

async function findStatus(flags: AdminFlags): Promise<Result> {
  const status = await withAdmin(flags, (admin) => admin.request<NodeStatus>('/status'));
  const isProblem = status.lines.some(({ state }) => state === 'problem');
  return {
    code: isProblem ? EXIT.findings : EXIT.ok,
    report: { data: status, text: () => formatStatus(status) },
  };
}

function formatStatus({ node, version, settings, dryRun, lines }: NodeStatus): string {
  const mode = dryRun ? ', DRY RUN: all endpoints are shown' : '';
  const about = `kube-proxy-wrapper ${version}, settings ${settings}${mode}`;
  return `${printLine(`node ${node}: ${about}`)}\n${formatStatusLines(lines)}`;
}
