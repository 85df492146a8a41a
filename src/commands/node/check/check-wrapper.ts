import type { Table } from '../../../admin/explain/table.ts';
import { problem, type StatusLine } from '../../../admin/status/status-line.ts';
import { messageOf } from '../../../util/message-of.ts';
import type { AdminClient } from '../../client/admin-client.ts';
import { readPages } from '../../client/read-pages.ts';
import { readStatus } from '../../client/read-status.ts';

/** Reads the whole table, page by page. Throws `NotReady` while a view is not complete. */
export async function readTable(admin: AdminClient): Promise<Table> {
  return await readPages<Table, 'rows'>(admin, '/table', 'rows', new URLSearchParams());
}

/** What `status` says. Who checks a kube-proxy expects it to be connected. */
export async function checkStatus(admin: AdminClient): Promise<StatusLine[]> {
  try {
    const { lines } = await readStatus(admin);
    return lines.map((line) =>
      line.state === 'notConnected' ? { ...line, state: 'problem' } : line,
    );
  } catch (error) {
    const next = 'start the wrapper on this node, or set --admin to its admin port';
    return [problem('wrapper', messageOf(error), next)];
  }
}
