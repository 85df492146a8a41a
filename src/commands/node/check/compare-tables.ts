import type { TableRow } from '../../../admin/explain/table.ts';
import type { KernelTable } from './kernel-table.ts';

/** A Service address whose backends in the kernel differ from the view. */
export interface TableDifference {
  readonly service: string;
  readonly target: string;
  /** Backends that are missing in the kernel, and those that it should not have. */
  readonly missing: readonly string[];
  readonly extra: readonly string[];
  /** Whether the kernel has the address in a table. */
  readonly known: boolean;
}

/** Compares the rows that kube-proxy should have written, except truncated ones, with the tables of the kernel. */
export function compareTables(rows: readonly TableRow[], kernel: KernelTable): TableDifference[] {
  return rows.flatMap((row) => {
    const { clusterIP, port, protocol, service, fewerAllowed, backends } = row;
    if (row.truncated) return [];
    const address = clusterIP.includes(':') ? `[${clusterIP}]` : clusterIP;
    const target = `${protocol} ${address}:${port}`;
    const found = kernel.get(target);
    const has = new Set(found);
    const missing = fewerAllowed ? [] : backends.filter((backend) => !has.has(backend));
    const extra = (found ?? []).filter((backend) => !backends.includes(backend));
    if (missing.length === 0 && extra.length === 0 && found !== undefined) return [];
    return [{ service, target, missing, extra, known: found !== undefined }];
  });
}
