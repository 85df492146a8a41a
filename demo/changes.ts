/** One endpoint of one Service, seen from one node. */
export interface Row {
  /** Unique: the slice and the address. */
  readonly id: string;
  /** `namespace/name`. */
  readonly service: string;
  readonly keys: string;
  readonly address: string;
  /** Empty: ready. */
  readonly state: string;
  readonly node: string;
  readonly shown: boolean;
  readonly why: string;
}

/** How one row differs from an earlier one. */
export type Mark = '+' | '-' | '~' | '';

/** A Service of which at least one row has changed. */
export interface ChangedService {
  readonly service: string;
  /** All rows of the Service. */
  readonly rows: readonly (Row & { readonly mark: Mark })[];
}

/** The Services whose rows differ. A row that did not exist before counts as not shown. */
export function changedServices(before: readonly Row[], after: readonly Row[]): ChangedService[] {
  const old = new Map(before.map((row) => [row.id, row]));
  const changed = new Map<string, (Row & { mark: Mark })[]>();
  const marked = after.map((row) => ({ ...row, mark: markOf(old.get(row.id), row) }));
  for (const { service, mark } of marked) if (mark !== '') changed.set(service, []);
  for (const row of marked) changed.get(row.service)?.push(row);
  return [...changed].map(([service, rows]) => ({ service, rows }));
}

function markOf(before: Row | undefined, now: Row): Mark {
  const wasShown = before?.shown ?? false;
  if (wasShown !== now.shown) return now.shown ? '+' : '-';
  const fields = ['why', 'node', 'state', 'keys'] as const;
  return fields.every((field) => before?.[field] === now[field]) ? '' : '~';
}
