/** The order of a table. */
export interface Sort {
  /** Label of the column. */
  readonly column: string;
  readonly down: boolean;
}

export interface Column<Item> {
  readonly label: string;
  /** What the column shows, if its label does not say it. */
  readonly title?: string;
  readonly compare: (a: Item, b: Item) => number;
}

/** The items in the order of a column. Equal ones keep their order. */
export function sortBy<Item>(
  items: readonly Item[],
  columns: readonly Column<Item>[],
  sort: Sort | undefined,
): readonly Item[] {
  const compare = columns.find(({ label }) => label === sort?.column)?.compare;
  if (compare === undefined || sort === undefined) return items;
  return items.toSorted(sort.down ? (a, b) => compare(b, a) : compare);
}

/** The order after a click on a column: ascending, descending, then as before. */
export function nextSort(sort: Sort | undefined, column: string): Sort | undefined {
  if (sort?.column !== column) return { column, down: false };
  return sort.down ? undefined : { column, down: true };
}

export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
