import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface VirtualGridProps<Item> {
  /** Accessible name of the grid. */
  readonly label: string;
  readonly columns: readonly string[];
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

/** Height of a row in pixels, the same as in style.css. */
const ROW = 36;
/** Number of rows that are rendered above and below the visible ones. */
const OVERSCAN = 6;

/**
 * A table that renders only its visible rows. The arrow keys, Page Up, Page Down, Home and End move the active row,
 * which is the first one initially. Enter opens it (WAI-ARIA Authoring Practices, grid).
 */
export function VirtualGrid<Item>(props: VirtualGridProps<Item>) {
  const { label, columns, items, keyOf, cells, open, onOpen, empty } = props;
  const body = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 800 });
  const [activeKey, setActiveKey] = useState<string>();
  const active = Math.max(
    0,
    items.findIndex((item) => keyOf(item) === activeKey),
  );
  const updateSeen = (): void => {
    // A scroll event can arrive after the grid was removed.
    if (body.current === null) return;
    setSeen({ top: body.current.scrollTop, height: body.current.clientHeight });
  };
  useEffect(() => {
    const observer = new ResizeObserver(updateSeen);
    observer.observe(body.current as HTMLDivElement);
    return () => observer.disconnect();
  }, []);

  const goTo = (index: number): void => {
    const to = Math.min(items.length - 1, Math.max(0, index));
    const item = items[to];
    if (item === undefined) return;
    setActiveKey(keyOf(item));
    const box = body.current as HTMLDivElement;
    if (to * ROW < box.scrollTop) box.scrollTop = to * ROW;
    else if ((to + 1) * ROW > box.scrollTop + box.clientHeight) {
      box.scrollTop = (to + 1) * ROW - box.clientHeight;
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(seen.height / ROW) - 1);
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: items.length - 1,
    };
    const step = steps[event.key];
    const item = items[active];
    if (step !== undefined) goTo(step);
    else if (event.key === 'Enter' && item !== undefined) {
      // The active row may not be visible.
      goTo(active);
      onOpen(item);
    } else return;
    event.preventDefault();
  };

  const first = Math.max(0, Math.floor(seen.top / ROW) - OVERSCAN);
  const last = Math.min(items.length, Math.ceil((seen.top + seen.height) / ROW) + OVERSCAN);
  const activeId = active >= first && active < last ? `${label}-${active}` : undefined;
  return (
    <div
      class={`grid ${props.class}`}
      role="grid"
      aria-label={label}
      aria-rowcount={items.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={activeId}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onFocus={({ currentTarget }) => {
        // Focus by keyboard: show the active row. It stays active if rows are inserted before it.
        if (currentTarget.matches(':focus-visible')) goTo(active);
      }}
    >
      <div class="row head" role="row" aria-rowindex={1} tabIndex={-1}>
        {columns.map((column) => (
          <span key={column} role="columnheader" tabIndex={-1}>
            {column}
          </span>
        ))}
      </div>
      <div class="body" role="rowgroup" ref={body} onScroll={updateSeen}>
        {items.length === 0 && <p class="empty">{empty}</p>}
        <div class="rows" role="presentation" style={{ height: `${items.length * ROW}px` }}>
          {items.slice(first, last).map((item, offset) => {
            const index = first + offset;
            const key = keyOf(item);
            return (
              <div
                key={key}
                id={`${label}-${index}`}
                role="row"
                tabIndex={-1}
                aria-rowindex={index + 2}
                aria-selected={key === open}
                class={`row${index === active ? ' active' : ''}`}
                style={{ transform: `translateY(${index * ROW}px)` }}
                onClick={() => {
                  setActiveKey(key);
                  onOpen(item);
                }}
                onKeyDown={() => {}}
              >
                {cells(item).map((cell, column) => (
                  <span key={columns[column]} role="gridcell" tabIndex={-1}>
                    {cell}
                  </span>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
