import type { TableRow } from '../../admin/explain/table.ts';
import type { KernelTable } from './kernel-table.ts';

/** A Service address for which the kernel does something else than the view says. */
export interface TableDifference {
  readonly service: string;
  readonly target: string;
  /** Backends that the kernel lacks, and those that it should not have. */
  readonly missing: readonly string[];
  readonly extra: readonly string[];
  /** Whether the kernel knows the address at all. */
  readonly known: boolean;
}

/** Compares what kube-proxy should have written with what the kernel has. */
export function compareTables(rows: readonly TableRow[], kernel: KernelTable): TableDifference[] {
  return rows.flatMap((row) => {
    const { clusterIP, port, protocol, service, fewerAllowed, backends } = row;
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
