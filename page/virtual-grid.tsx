import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface VirtualGridProps<Item> {
  /** Read out as its name. */
  readonly label: string;
  readonly columns: readonly string[];
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
  /** The cells of a row, as many as there are columns. */
  readonly cells: (item: Item) => readonly ComponentChildren[];
  /** Key of the item that is open elsewhere on the page. */
  readonly open: string | undefined;
  readonly onOpen: (item: Item) => void;
  /** Instead of rows, when there are none. */
  readonly empty: ComponentChildren;
  readonly class: string;
}

/** Height of a row in pixels; the style sheet says the same. */
const ROW = 36;
/** Rows that are drawn beyond what can be seen. */
const BEYOND = 6;

/**
 * A table of which only the rows that can be seen are in the document. The arrow keys, Page Up and Down, Home
 * and End move through it, Enter opens the row that is marked, at first the first one (WAI-ARIA Authoring
 * Practices, grid).
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
  const look = (): void => {
    // A scroll may be told after the grid has gone.
    if (body.current === null) return;
    setSeen({ top: body.current.scrollTop, height: body.current.clientHeight });
  };
  useEffect(() => {
    const observer = new ResizeObserver(look);
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
      // It may have been scrolled out of sight.
      goTo(active);
      onOpen(item);
    } else return;
    event.preventDefault();
  };

  const first = Math.max(0, Math.floor(seen.top / ROW) - BEYOND);
  const last = Math.min(items.length, Math.ceil((seen.top + seen.height) / ROW) + BEYOND);
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
        // By keyboard: what is marked is shown, and stays the same when others come before it.
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
      <div class="body" role="rowgroup" ref={body} onScroll={look}>
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
