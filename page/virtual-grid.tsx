import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { type ActiveRow, useActiveRow } from './active-row.ts';
import { GridHead } from './grid-head.tsx';
import { ROW, type RowWindow, useRowWindow } from './row-window.ts';
import { type Column, type Sort, sortBy } from './sort.ts';

export interface VirtualGridProps<Item> {
  /** Accessible name of the grid. */
  readonly label: string;
  readonly columns: readonly Column<Item>[];
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort | undefined) => void;
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
  /** The cells of a row, one for each column. */
  readonly cells: (item: Item) => readonly ComponentChildren[];
  /** Key of the item that is open in another part of the page. */
  readonly open: string | undefined;
  readonly onOpen: (item: Item) => void;
  /** Shown if there are no rows. */
  readonly empty: ComponentChildren;
  readonly class: string;
}

/**
 * A table that renders only its visible rows. The arrow keys, Page Up, Page Down, Home and End move the active row.
 * Enter opens it (WAI-ARIA Authoring Practices, grid).
 */
export function VirtualGrid<Item>(props: VirtualGridProps<Item>) {
  const { label, columns, sort, keyOf, onOpen } = props;
  const items = useMemo(
    () => sortBy(props.items, columns, sort),
    [props.items, columns, sort?.column, sort?.down],
  );
  const rows = useRowWindow(items.length);
  const active = useActiveRow({ items, keyOf, rows, onOpen });
  const isRendered = active.index >= rows.first && active.index < rows.last;
  return (
    <div
      class={`grid ${props.class}`}
      role="grid"
      aria-label={label}
      aria-rowcount={items.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={isRendered ? `${label}-${active.index}` : undefined}
      tabIndex={0}
      onKeyDown={active.onKeyDown}
      onFocus={({ currentTarget, target }) => {
        // Focus by keyboard: show the active row.
        const isOwn = target === currentTarget && currentTarget.matches(':focus-visible');
        if (isOwn) active.goTo(active.index);
      }}
    >
      <GridHead columns={columns} sort={sort} onSort={props.onSort} />
      <div class="body" role="rowgroup" ref={rows.body} onScroll={rows.onScroll}>
        {items.length === 0 && <p class="empty">{props.empty}</p>}
        <div class="rows" role="presentation" style={{ height: `${items.length * ROW}px` }}>
          {renderRows(props, items, rows, active)}
        </div>
      </div>
    </div>
  );
}

function renderRows<Item>(
  { label, columns, keyOf, cells, open, onOpen }: VirtualGridProps<Item>,
  items: readonly Item[],
  { first, last }: RowWindow,
  active: ActiveRow<Item>,
) {
  return items.slice(first, last).map((item, offset) => {
    const index = first + offset;
    const key = keyOf(item);
    return (
      <GridRow
        key={key}
        id={`${label}-${index}`}
        index={index}
        isActive={index === active.index}
        isOpen={key === open}
        columns={columns}
        cells={cells(item)}
        onClick={() => {
          active.setActive(item);
          onOpen(item);
        }}
      />
    );
  });
}

interface GridRowProps {
  readonly id: string;
  readonly index: number;
  readonly isActive: boolean;
  readonly isOpen: boolean;
  readonly columns: readonly { readonly label: string }[];
  readonly cells: readonly ComponentChildren[];
  readonly onClick: () => void;
}

function GridRow({ id, index, isActive, isOpen, columns, cells, onClick }: GridRowProps) {
  return (
    <div
      id={id}
      role="row"
      tabIndex={-1}
      aria-rowindex={index + 2}
      aria-selected={isOpen}
      class={`row${isActive ? ' active' : ''}`}
      style={{ transform: `translateY(${index * ROW}px)` }}
      onClick={onClick}
      onKeyDown={() => {}}
    >
      {cells.map((cell, column) => (
        <span key={columns[column]?.label} role="gridcell" tabIndex={-1}>
          {cell}
        </span>
      ))}
    </div>
  );
}
