import { type Column, nextSort, type Sort } from './sort.ts';

interface GridHeadProps<Item> {
  readonly columns: readonly Column<Item>[];
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort | undefined) => void;
}

/** The head of a grid. A click on a column sorts by it. */
export function GridHead<Item>({ columns, sort, onSort }: GridHeadProps<Item>) {
  return (
    <div class="row head" role="row" aria-rowindex={1} tabIndex={-1}>
      {columns.map(({ label, title }) => {
        const order = sort?.column === label ? orderOf(sort) : 'none';
        return (
          <span key={label} role="columnheader" tabIndex={-1} aria-sort={order}>
            <button
              type="button"
              class="sort"
              title={title}
              onClick={() => onSort(nextSort(sort, label))}
            >
              <span class="label">{label}</span>
              <span aria-hidden="true" class="order">
                {SIGNS[order]}
              </span>
            </button>
          </span>
        );
      })}
    </div>
  );
}

const SIGNS = { none: '', ascending: '▲', descending: '▼' } as const;

function orderOf({ down }: Sort): 'ascending' | 'descending' {
  return down ? 'descending' : 'ascending';
}
